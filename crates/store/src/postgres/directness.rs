//! Whether a connection leads to the database itself, or to a pooler that lends it for one transaction.
//!
//! What a session keeps, prepared statements and settings, is safe only if nobody else gets the session in between.
//! A pooler gives its clients cancel keys of its own, so the process that the key names is not the one that answers.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Client;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::trouble::Trouble;

/// Whether the process that answers is the one that the connection's cancel key names.
pub(super) async fn is_direct(client: &Client) -> Result<bool, Trouble> {
    let row = client.query_typed_one("SELECT pg_backend_pid()", &[]).await?;
    let answering: i32 = row.try_get(0)?;
    let mut written = Written(Vec::new());
    client.cancel_token().cancel_query_raw(&mut written, AsItIs).await?;
    Ok(written.process() == Some(answering))
}

/// Takes down what is written; to a request for encryption it says yes.
struct Written(Vec<u8>);

impl Written {
    /// The process that a request to cancel names: its length, its code, the process, the secret.
    fn process(&self) -> Option<i32> {
        let (_, request) = self.0.split_last_chunk::<16>()?;
        let (_, rest) = request.split_first_chunk::<8>()?;
        rest.first_chunk().map(|process| i32::from_be_bytes(*process))
    }
}

/// Leaves the stream as it is.
struct AsItIs;

impl<'a> TlsConnect<&'a mut Written> for AsItIs {
    type Stream = &'a mut Written;
    type Error = Infallible;
    type Future = Ready<Result<&'a mut Written, Infallible>>;

    fn connect(self, stream: &'a mut Written) -> Self::Future {
        ready(Ok(stream))
    }
}

impl TlsStream for &mut Written {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Written {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buffer.put_slice(b"S");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Written {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
