//! HTTP/2 without TLS, by prior knowledge.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use keyloom_server::{Config, Limits, RunningServer, Server};
use tokio::net::TcpStream;

use crate::client::{Echo, config, echo};

type Sender = SendRequest<Full<Bytes>>;

pub(crate) async fn over(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
) -> Sender {
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    sender
}

pub(crate) async fn ask(sender: &mut Sender, body: impl Into<Bytes>) -> Response<Bytes> {
    let request = Request::post("http://localhost/")
        .header("x-amz-target", "DynamoDB_20120810.GetItem")
        .header("content-type", "application/x-amz-json-1.0")
        .body(Full::new(body.into()))
        .unwrap();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

async fn connect(server: &RunningServer) -> Sender {
    over(TcpStream::connect(server.addr()).await.unwrap()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn many_requests_share_one_connection() {
    let server = echo();
    let sender = connect(&server).await;
    let asking: Vec<_> = (0..100)
        .map(|number| {
            let mut sender = sender.clone();
            tokio::spawn(async move { (number, ask(&mut sender, format!("{number}")).await) })
        })
        .collect();
    for asked in asking {
        let (number, response) = asked.await.unwrap();
        assert_eq!(response.version(), Version::HTTP_2);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.body(), number.to_string().as_bytes());
        assert_eq!(response.headers()["x-amzn-requestid"].len(), 52);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn large_bodies_and_refusals_work_as_on_http1() {
    let limits = Limits { max_body_bytes: 5_000_000, ..Limits::default() };
    let server = Server::start(Config { limits, ..config() }, Echo).unwrap();
    let mut sender = connect(&server).await;
    let large = vec![b'x'; 4_000_000];
    assert!(ask(&mut sender, large.clone()).await.body() == &large);
    let response = ask(&mut sender, vec![b'x'; 5_000_001]).await;
    assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(ask(&mut sender, "{}").await.status(), StatusCode::OK);
}
