//! The page for a browser, of an execution with 10,000 steps: how long it takes until it can be used, to step through
//! it and to scroll.
//!
//! Debian's chromium opens the page, with `page.js` at its end, from a server that lasts as long as that takes. The
//! script presses keys and scrolls as a person would, and sends the times. Frames come 60 times a second, so that
//! nothing is shown sooner than after the 16.7 ms from one to the next.

use crate::gallery::command;
use serde_json::Value as Json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Two threads, 5,000 operations each, and an assertion that fails in the end.
const PROGRAM: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *run(void *p) {
    for (int i = 0; i < 1250; i++) {
        atomic_fetch_add_explicit(&x, 1, memory_order_relaxed);
        atomic_store_explicit(&y, i, memory_order_release);
        atomic_load_explicit(&x, memory_order_acquire);
        atomic_load_explicit(&y, memory_order_relaxed);
    }
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    run(0);
    pthread_join(t, 0);
    assert(x != 2500);
}
";

/// How long the browser may take.
const PATIENCE: Duration = Duration::from_secs(180);

/// Prints the table.
pub fn measure() {
    let command = command();
    println!(
        "Milliseconds, median / worst of 180. Work is what the script and the layout take of a step; shown is when"
    );
    println!("the frame with it has been drawn. Scrolled: from one frame to the next, by a notch of the wheel or to");
    println!("anywhere else. Idle: the same with nothing to do.\n");
    println!(
        "| model | steps | file | usable after | all steps laid out | forwards: work | shown | backwards: work | shown \
         | scrolled: notch | anywhere | idle |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for model in ["sc", "tso", "c11"] {
        let page = page_of(&command, model);
        let size = page.len();
        match in_browser(page) {
            Ok(times) => println!("| {model} {}", row(&times, size)),
            Err(why) => println!("| {model} | {why} |"),
        }
    }
}

fn row(times: &Json, size: usize) -> String {
    let number = |value: &Json| value.as_f64().unwrap_or(f64::NAN);
    let pair = |value: &Json| format!("{:.1} / {:.1}", number(&value["median"]), number(&value["worst"]));
    let mut cells = vec![
        format!("{:.0}", number(&times["steps"])),
        format!("{:.1} MB", size as f64 / 1e6),
        format!("{:.0}", number(&times["usable"])),
        format!("{:.0}", number(&times["all"])),
    ];
    for way in ["forwards", "backwards"] {
        cells.extend(["work", "shown"].map(|what| pair(&times[way][what])));
    }
    cells.extend(["wheel", "far", "idle"].map(|what| pair(&times[what])));
    format!("| {} |", cells.join(" | "))
}

/// The page that the command makes of the program, without minimising: as long as it was met.
fn page_of(command: &Path, model: &str) -> Vec<u8> {
    let place = tempfile::tempdir().expect("a directory");
    std::fs::write(place.path().join("long.c"), PROGRAM).expect("a file");
    let output = Command::new(command)
        .current_dir(place.path())
        .args(["test", "long.c", "--model", model, "--no-minimize", "--html", "page.html"])
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(place.path().join("page.html")).expect("a page");
    let (start, end) = page.rsplit_once("</body>").expect("an end");
    [start, "<script>", include_str!("page.js"), "</script></body>", end].concat().into_bytes()
}

/// What the script says of the page.
fn in_browser(page: Vec<u8>) -> Result<Json, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let (sender, results) = channel();
    let page: Arc<[u8]> = page.into();
    // Browsers open more connections than they use. The thread ends with this program.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (page, sender) = (Arc::clone(&page), sender.clone());
            std::thread::spawn(move || answer(stream, &page, &sender));
        }
    });
    let profile = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1200"])
        .args(["--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{address}/"))
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("chromium does not start: {error}"))?;
    let mut messages = browser.stderr.take().expect("asked for");
    let said = std::thread::spawn(move || {
        let mut text = Vec::new();
        messages.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
    });
    let result = results.recv_timeout(PATIENCE);
    browser.kill().and_then(|()| browser.wait()).map_err(|error| error.to_string())?;
    let said = said.join().unwrap_or_default();
    if let Some(line) = said.lines().find(|line| line.contains(":CONSOLE")) {
        return Err(format!("on the console: {line}"));
    }
    let result = result.map_err(|_| format!("chromium did not answer: {said}"))?;
    serde_json::from_str(&result).map_err(|error| error.to_string())
}

/// One request: the page, or what it says of itself.
fn answer(stream: TcpStream, page: &[u8], results: &Sender<String>) -> Option<()> {
    let mut reader = BufReader::new(&stream);
    let mut request = String::new();
    reader.read_line(&mut request).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, content): (_, &[u8]) = match &request[..] {
        line if line.starts_with("GET / ") => ("200 OK", page),
        line if line.starts_with("POST /results ") => ("200 OK", &[]),
        _ => ("204 No Content", &[]),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        content.len()
    );
    (&stream).write_all(head.as_bytes()).and_then(|()| (&stream).write_all(content)).ok()?;
    if request.starts_with("POST /results ") {
        results.send(String::from_utf8(body).ok()?).ok()?;
    }
    Some(())
}
