//! A minimal XML reader for responses of S3 and the Security Token Service.

/// The text of the first element of this name.
pub(super) fn text_of(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inside, _) = rest.split_once(&format!("</{name}>"))?;
    Some(unescape(inside))
}

fn unescape(text: &str) -> String {
    let mut parts = text.split('&');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let named = part.split_once(';').and_then(|(name, rest)| Some((character(name)?, rest)));
        // What is no character's name stays as it is.
        let (character, rest) = named.unwrap_or(('&', part));
        out.push(character);
        out.push_str(rest);
    }
    out
}

fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_characters_are_read() {
        let found = text_of("<a><b>&lt;&#65;&#x42;&amp;&quot;</b><b>2</b></a>", "b");
        assert_eq!(found.as_deref(), Some("<AB&\""));
        assert_eq!(text_of("<a>", "a"), None);
        assert_eq!(unescape("&unknown; & &#xD800;"), "&unknown; & &#xD800;");
    }
}
