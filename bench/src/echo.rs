//! The limit of HTTP: a bare hyper server that reads each request to its end and sends an answer it
//! was given before. What separates a DynamoDB endpoint from it is what the endpoint does.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::http::{self, Client};

/// The answers by target.
type Answers = Arc<RwLock<HashMap<String, Bytes>>>;

/// A target with this in front carries the answer to give from now on.
const REMEMBER: &str = "Remember";

/// Tells an echo server what to answer when it is asked `target`.
pub(crate) fn teach(address: SocketAddr, target: &str, answer: &[u8]) -> Result<()> {
    let answer = std::str::from_utf8(answer).context("an answer is JSON")?;
    let request = http::request(&format!("{REMEMBER}{target}"), answer);
    Client::new(address).exchange(&request).map(drop)
}

/// Serves until the process is killed.
pub(crate) fn serve(port: u16) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let answers = Answers::default();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(converse(stream, Arc::clone(&answers)));
        }
    })
}

async fn converse(stream: TcpStream, answers: Answers) {
    let service = service_fn(move |request| answer(request, Arc::clone(&answers)));
    // A client that goes away is no concern of ours.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    answers: Answers,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let target = request.headers().get("x-amz-target").and_then(|value| value.to_str().ok());
    let target = target.and_then(|target| target.rsplit_once('.'));
    let target = target.map_or("", |(_, operation)| operation).to_owned();
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let body = body.unwrap_or_default();
    let known = if let Some(taught) = target.strip_prefix(REMEMBER) {
        let mut answers = answers.write().unwrap_or_else(PoisonError::into_inner);
        answers.insert(taught.to_owned(), body);
        None
    } else {
        answers.read().unwrap_or_else(PoisonError::into_inner).get(&target).cloned()
    };
    let mut response = Response::new(Full::new(known.unwrap_or(Bytes::from_static(b"{}"))));
    let json = hyper::header::HeaderValue::from_static("application/x-amz-json-1.0");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
