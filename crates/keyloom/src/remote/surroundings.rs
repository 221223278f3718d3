//! Default settings, from environment variables and the shared files of AWS's tools.

use std::path::PathBuf;

use super::Credentials;

type Variable = dyn Fn(&str) -> Option<String>;
type File = dyn Fn(&PathBuf) -> Option<String>;

/// The environment that settings are read from; tests supply their own.
pub(super) struct Surroundings {
    variable: Box<Variable>,
    file: Box<File>,
}

impl Surroundings {
    /// An environment that a test makes up.
    #[cfg(test)]
    pub(super) fn of(
        variable: impl Fn(&str) -> Option<String> + 'static,
        file: impl Fn(&PathBuf) -> Option<String> + 'static,
    ) -> Self {
        Self { variable: Box::new(variable), file: Box::new(file) }
    }

    /// The process's environment and the user's files.
    pub(super) fn real() -> Self {
        Self {
            variable: Box::new(|name| std::env::var(name).ok().filter(|value| !value.is_empty())),
            file: Box::new(|path| std::fs::read_to_string(path).ok()),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name)
    }

    pub(super) fn profile_name(&self, asked: Option<&str>) -> String {
        asked
            .map(str::to_owned)
            .or_else(|| self.variable("AWS_PROFILE"))
            .unwrap_or_else(|| "default".to_owned())
    }

    /// A setting of a profile, from one of the two shared files.
    fn setting(&self, file: SharedFile, profile: &str, name: &str) -> Option<String> {
        let path = if let Some(path) = self.variable(file.variable()) {
            PathBuf::from(path)
        } else {
            let home = self.variable("HOME").or_else(|| self.variable("USERPROFILE"))?;
            PathBuf::from(home).join(".aws").join(file.name())
        };
        find_setting(&(self.file)(&path)?, &file.section(profile), name)
    }

    /// The key in the environment.
    pub(super) fn environment_key(&self) -> Option<Credentials> {
        Some(Credentials {
            access_key_id: self.variable("AWS_ACCESS_KEY_ID")?,
            secret_access_key: self.variable("AWS_SECRET_ACCESS_KEY")?,
            session_token: self.variable("AWS_SESSION_TOKEN"),
            expires_ms: None,
        })
    }

    /// The key that a profile states in one of the shared files.
    pub(super) fn profile_key(&self, profile: &str) -> Option<Credentials> {
        [SharedFile::Credentials, SharedFile::Config].into_iter().find_map(|file| {
            Some(Credentials {
                access_key_id: self.setting(file, profile, "aws_access_key_id")?,
                secret_access_key: self.setting(file, profile, "aws_secret_access_key")?,
                session_token: self.setting(file, profile, "aws_session_token"),
                expires_ms: None,
            })
        })
    }

    /// A setting of a profile, from either of the shared files.
    pub(super) fn profile_setting(&self, profile: &str, name: &str) -> Option<String> {
        [SharedFile::Credentials, SharedFile::Config]
            .into_iter()
            .find_map(|file| self.setting(file, profile, name))
    }

    pub(super) fn region(&self, profile: Option<&str>) -> Option<String> {
        self.variable("AWS_REGION")
            .or_else(|| self.variable("AWS_DEFAULT_REGION"))
            .or_else(|| self.setting(SharedFile::Config, &self.profile_name(profile), "region"))
    }
}

/// The shared files of AWS's tools.
#[derive(Clone, Copy)]
enum SharedFile {
    Credentials,
    Config,
}

impl SharedFile {
    fn name(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::Config => "config",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Credentials => "AWS_SHARED_CREDENTIALS_FILE",
            Self::Config => "AWS_CONFIG_FILE",
        }
    }

    /// The files name the same profile differently.
    fn section(self, profile: &str) -> String {
        match self {
            Self::Config if profile != "default" => format!("profile {profile}"),
            _ => profile.to_owned(),
        }
    }
}

/// A setting in a section of an INI file.
fn find_setting(text: &str, section: &str, name: &str) -> Option<String> {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = header.trim() == section;
        } else if inside
            && !line.starts_with(['#', ';'])
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == name
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(variables: &'static [(&str, &str)]) -> Surroundings {
        Surroundings {
            variable: Box::new(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned())
            }),
            file: Box::new(|path| {
                match path.to_str() {
                Some("/home/u/.aws/credentials") => Some(
                    "[default]\naws_access_key_id = A\naws_secret_access_key=B\n\n[work]\n# x = y\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E".into(),
                ),
                Some("/home/u/.aws/config") => {
                    Some("[default]\nregion = eu-west-1\n[profile work]\nregion=eu-north-1".into())
                }
                _ => None,
            }
            }),
        }
    }

    #[test]
    fn profiles_are_found_in_both_files() {
        let files = surroundings(&[("HOME", "/home/u"), ("AWS_PROFILE", "work")]);
        assert_eq!(files.profile_name(None), "work");
        let work = Credentials::new("C", "D").with_session_token("E");
        assert_eq!(files.profile_key("work"), Some(work));
        assert_eq!(files.region(None).as_deref(), Some("eu-north-1"));
        assert_eq!(files.profile_key("default"), Some(Credentials::new("A", "B")));
        assert_eq!(files.region(Some("default")).as_deref(), Some("eu-west-1"));
        assert_eq!(files.profile_key("none"), None);
        assert_eq!(files.profile_setting("work", "region").as_deref(), Some("eu-north-1"));
    }

    #[test]
    fn the_environment_comes_before_the_files() {
        let both = surroundings(&[
            ("HOME", "/home/u"),
            ("AWS_ACCESS_KEY_ID", "X"),
            ("AWS_SECRET_ACCESS_KEY", "Y"),
            ("AWS_REGION", "us-west-2"),
        ]);
        assert_eq!(both.environment_key(), Some(Credentials::new("X", "Y")));
        assert_eq!(both.region(None).as_deref(), Some("us-west-2"));
    }
}
