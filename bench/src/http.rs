//! As much HTTP/1.1 as a client needs that asks one server one kind of question.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A request as it goes over the wire. Every server gets the same bytes; the signature is there for
/// the peers that insist on one.
pub(crate) fn request(target: &str, body: &str) -> Vec<u8> {
    format!(
        "POST / HTTP/1.1\r\n\
         Host: localhost:8000\r\n\
         X-Amz-Target: DynamoDB_20120810.{target}\r\n\
         Content-Type: application/x-amz-json-1.0\r\n\
         X-Amz-Date: 20261101T120000Z\r\n\
         Authorization: AWS4-HMAC-SHA256 \
         Credential=AKIDEXAMPLE/20261101/us-east-1/dynamodb/aws4_request, \
         SignedHeaders=host;x-amz-date;x-amz-target, \
         Signature=0000000000000000000000000000000000000000000000000000000000000000\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The status.
    pub(crate) status: u16,
    /// Where the body begins.
    pub(crate) length: usize,
    /// The length of the body.
    pub(crate) body: usize,
    /// Whether the server will close the connection.
    pub(crate) closes: bool,
}

impl Head {
    /// Reads the head that `bytes` begin with; none if it is not complete yet.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            return Ok(None);
        };
        let (head, _) = bytes.split_at(end);
        let status = head
            .get(9..12)
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .context("the response has no status")?;
        let body = field(head, b"content-length:").context("the response has no Content-Length")?;
        let body = body.parse().with_context(|| format!("Content-Length is {body:?}"))?;
        let closes =
            field(head, b"connection:").is_some_and(|how| how.eq_ignore_ascii_case("close"));
        Ok(Some(Self { status, length: end + 4, body, closes }))
    }
}

/// The value of a header whose lower-case name, with its colon, is given.
fn field<'h>(head: &'h [u8], name: &[u8]) -> Option<&'h str> {
    head.split(|byte| *byte == b'\n').find_map(|line| {
        let (start, value) = line.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then(|| std::str::from_utf8(value).ok())?.map(str::trim)
    })
}

/// A connection for everything that is not measured.
#[derive(Debug)]
pub(crate) struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// Asks, and returns the body of the answer, which must be a success.
    pub(crate) fn call(&mut self, target: &str, body: &str) -> Result<Vec<u8>> {
        let answer = self.exchange(&request(target, body));
        answer.with_context(|| format!("{target} at {}", self.address))
    }

    /// Sends bytes that are a request.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.address)?,
        };
        stream.write_all(request)?;
        let (head, body) = receive(&mut stream)?;
        if !head.closes {
            self.stream = Some(stream);
        }
        if head.status != 200 {
            bail!("answered {}: {}", head.status, String::from_utf8_lossy(&body));
        }
        Ok(body)
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    Ok(stream)
}

fn receive(stream: &mut TcpStream) -> Result<(Head, Vec<u8>)> {
    let mut received = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            bail!("the server closed the connection in the midst of an answer");
        }
        received.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if let Some(head) = Head::parse(&received)?
            && received.len() >= head.length + head.body
        {
            received.drain(..head.length);
            return Ok((head, received));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_when_they_are_complete() {
        let text = b"HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 12\r\n\r\nbody";
        let head = Head::parse(text).unwrap().unwrap();
        assert_eq!(head, Head { status: 200, length: text.len() - 4, body: 12, closes: false });
        assert_eq!(Head::parse(&text[..40]).unwrap(), None);
    }

    #[test]
    fn header_names_are_read_in_any_case() {
        let text = b"HTTP/1.1 400 Bad\r\ncontent-length: 0\r\nCONNECTION: Close\r\n\r\n";
        let head = Head::parse(text).unwrap().unwrap();
        assert!(head.closes);
        assert_eq!(head.status, 400);
    }

    #[test]
    fn a_response_of_unknown_length_is_refused() {
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
    }
}
