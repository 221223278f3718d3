//! Credential sources against mock endpoints.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;

use super::*;

/// What was asked: the first line, the headers in small letters, the body.
type Asked = Arc<Mutex<Vec<String>>>;

/// An endpoint that answers one request after the other with these statuses and bodies.
fn endpoint(answers: Vec<(u16, String)>) -> (String, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Asked::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for (status, answer) in answers {
            let (socket, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(socket);
            let (mut request, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
                request.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            request.push_str(&String::from_utf8(body).unwrap());
            seen.lock().unwrap().push(request);
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
            reader.get_mut().write_all(head.as_bytes()).unwrap();
        }
    });
    (url, asked)
}

fn key(id: &str, expires: &str) -> String {
    format!(
        r#"{{"Version":1,"AccessKeyId":"{id}","SecretAccessKey":"s","Token":"t","SessionToken":"t","Expiration":"{expires}"}}"#
    )
}

fn provider(source: Source) -> Provider {
    Provider::new(source, "everywhere".into())
}

fn container(url: &str) -> Provider {
    provider(Source::Container { url: format!("{url}/creds"), token: ContainerToken::None })
}

fn id(provider: &Provider, now_ms: u64) -> String {
    match provider.credentials(now_ms) {
        Ok(credentials) => credentials.access_key_id.clone(),
        Err(failure) => panic!("{failure:?}"),
    }
}

#[test]
fn short_lived_keys_are_kept_and_replaced_before_they_end() {
    let (url, asked) = endpoint(vec![
        (200, key("first", "1970-01-01T01:00:00Z")),
        (200, key("second", "1970-01-01T02:00:00Z")),
        (500, String::new()),
    ]);
    let provider = container(&url);
    let minute = 60_000;
    assert_eq!(id(&provider, 0), "first");
    assert_eq!(id(&provider, 54 * minute), "first");
    assert_eq!(asked.lock().unwrap().len(), 1);
    assert_eq!(id(&provider, 56 * minute), "second");
    // While the endpoint is in trouble, what is at hand serves until its end.
    assert_eq!(id(&provider, 119 * minute), "second");
    assert!(provider.credentials(121 * minute).is_err());
}

#[test]
fn a_source_in_trouble_is_left_alone_for_a_while() {
    let (url, asked) = endpoint(vec![
        (200, key("first", "1970-01-01T01:00:00Z")),
        (500, String::new()),
        (200, key("second", "1970-01-01T02:00:00Z")),
    ]);
    let provider = container(&url);
    let (minute, second) = (60_000, 1_000);
    let seen = |now_ms| (id(&provider, now_ms), asked.lock().unwrap().len());
    assert_eq!(seen(0), ("first".into(), 1));
    assert_eq!(seen(56 * minute), ("first".into(), 2));
    assert_eq!(seen(56 * minute + 29 * second), ("first".into(), 2));
    assert_eq!(seen(56 * minute + 31 * second), ("second".into(), 3));
}

#[test]
fn while_one_fetches_the_others_use_what_holds() {
    let (url, _) = endpoint(vec![(200, key("first", "1970-01-01T01:00:00Z"))]);
    let provider = container(&url);
    assert_eq!(id(&provider, 0), "first");
    let _turn = provider.turn.lock().unwrap();
    assert_eq!(id(&provider, 59 * 60_000), "first");
}

#[test]
fn a_container_shows_its_token() {
    let (url, asked) = endpoint(vec![(200, key("c", "2999-01-01T00:00:00Z"))]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    std::fs::write(&path, "from-file\n").unwrap();
    let token = ContainerToken::File(path);
    assert_eq!(id(&provider(Source::Container { url: format!("{url}/x"), token }), 0), "c");
    let asked = asked.lock().unwrap().join("").to_lowercase();
    assert!(asked.starts_with("get /x "), "{asked}");
    assert!(asked.contains("authorization: from-file"), "{asked}");
}

#[test]
fn an_instance_is_asked_with_a_token() {
    let (url, asked) = endpoint(vec![
        (200, "the-token".into()),
        (200, "the-role\n".into()),
        (200, key("i", "2999-01-01T00:00:00Z")),
    ]);
    assert_eq!(id(&provider(Source::Instance { url }), 0), "i");
    let asked = asked.lock().unwrap().clone();
    assert!(asked[0].starts_with("PUT /latest/api/token "), "{asked:?}");
    assert!(asked[2].starts_with("GET /latest/meta-data/iam/security-credentials/the-role "));
    assert!(asked[2].to_lowercase().contains("x-aws-ec2-metadata-token: the-token"));
}

#[test]
fn a_web_identity_becomes_a_role() {
    let answer = "<R><Credentials><AccessKeyId>w</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
                  <SessionToken>t</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></R>";
    let refusal = "<E><Code>AccessDenied</Code><Message>not you</Message></E>";
    let (url, asked) = endpoint(vec![(200, answer.into()), (403, refusal.into())]);
    let directory = tempfile::tempdir().unwrap();
    let token_file = directory.path().join("token");
    std::fs::write(&token_file, "a.b+c").unwrap();
    let source =
        Source::WebIdentity { url, role: "arn:r".into(), session: "me".into(), token_file };
    assert_eq!(id(&provider(source.clone()), 0), "w");
    let asked = asked.lock().unwrap()[0].clone();
    assert!(asked.contains("WebIdentityToken=a.b%2Bc"), "{asked}");
    assert!(asked.contains("Action=AssumeRoleWithWebIdentity"), "{asked}");
    let denied = format!("{:?}", provider(source).credentials(0).unwrap_err());
    assert!(denied.contains("not you") && denied.contains("arn:r"), "{denied}");
}

#[cfg(unix)]
#[test]
fn a_program_is_run() {
    let process = |command: &str| provider(Source::Process { command: command.into() });
    let print = format!("echo '{}'", key("p", "2999-01-01T00:00:00Z"));
    assert_eq!(id(&process(&print), 0), "p");
    let failed = process("echo locked >&2; exit 3").credentials(0).unwrap_err();
    assert!(format!("{failed:?}").contains("locked"), "{failed:?}");
    let nonsense = process("echo hello").credentials(0).unwrap_err();
    assert!(format!("{nonsense:?}").contains("JSON"), "{nonsense:?}");
}

#[test]
fn an_error_lists_all_sources_that_were_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let Err(AttemptError::Local(error)) = provider(Source::Instance { url }).credentials(0) else {
        panic!("somebody answered")
    };
    assert!(error.to_string().contains("Looked at: everywhere"), "{error}");
}

#[test]
fn a_source_that_was_named_may_answer_a_moment_later() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let failure = container(&url).credentials(0).unwrap_err();
    assert!(matches!(failure, AttemptError::NotSent(_)), "{failure:?}");
    let failure = container("nowhere").credentials(0).unwrap_err();
    assert!(matches!(failure, AttemptError::Local(_)), "{failure:?}");
}
