//! The modes of `--throttle`: whether requests are refused for lack of throughput.

mod injection;

use std::fmt;
use std::str::FromStr;

pub use injection::{Injection, Rule, When};

use crate::partitions::MAX_BURST_SECONDS;

/// Whether requests are refused for lack of throughput.
///
/// ```
/// use keyloom_observe::Throttle;
///
/// assert_eq!("enforce".parse(), Ok(Throttle::Enforce { burst_seconds: 300 }));
/// assert_eq!("enforce:burst=0".parse(), Ok(Throttle::Enforce { burst_seconds: 0 }));
/// assert!(matches!("inject=table=Orders:write:every=10,seed=7".parse()?, Throttle::Inject(_)));
/// let error = "inject=2".parse::<Throttle>().unwrap_err();
/// assert_eq!(error.to_string(), "`2` is no probability: it must be from 0 to 1");
/// # Ok::<(), keyloom_observe::ThrottleSyntax>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Throttle {
    /// Never; partitions are not followed either.
    Off,
    /// Never, but what AWS would have refused is counted.
    #[default]
    Observe,
    /// As AWS would.
    Enforce {
        /// How long unused capacity is saved; AWS: up to 300 s. As much is there at the beginning.
        burst_seconds: u32,
    },
    /// As a script says, whatever the load.
    Inject(Injection),
}

impl FromStr for Throttle {
    type Err = ThrottleSyntax;

    fn from_str(text: &str) -> Result<Self, ThrottleSyntax> {
        match text.split_once('=') {
            None if text == "off" => Ok(Self::Off),
            // Its former name, which scripts may have.
            None if text == "observe" || text == "watch" => Ok(Self::Observe),
            None if text == "enforce" => Ok(Self::Enforce { burst_seconds: MAX_BURST_SECONDS }),
            Some(("enforce:burst", seconds)) => burst(seconds),
            Some(("inject", rules)) => rules.parse().map(Self::Inject),
            _ => Err(ThrottleSyntax(format!(
                "`{text}` is no way to throttle: say `off`, `observe`, `enforce`, `enforce:burst=SECONDS` or `inject=RULES`, \
                 such as `inject=write:0.1`"
            ))),
        }
    }
}

fn burst(text: &str) -> Result<Throttle, ThrottleSyntax> {
    let seconds: Option<u32> = text.parse().ok();
    let burst_seconds = seconds.filter(|seconds| *seconds <= MAX_BURST_SECONDS);
    burst_seconds.map(|burst_seconds| Throttle::Enforce { burst_seconds }).ok_or_else(|| {
        ThrottleSyntax(format!("`burst={text}`: it must be from 0 to {MAX_BURST_SECONDS} seconds"))
    })
}

/// Why a text is not a throttling option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThrottleSyntax(String);

impl fmt::Display for ThrottleSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ThrottleSyntax {}
