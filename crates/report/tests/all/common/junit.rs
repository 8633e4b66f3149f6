//! JUnit XML as the schemas have it that CI systems share: which elements there are, in which order, with which
//! attributes, and that the numbers are those of the elements.

/// An element: the names of the elements that it may have, in their order, the attributes that it must have, and those
/// that it may have besides.
struct Rule {
    elements: &'static [&'static str],
    must: &'static [&'static str],
    may: &'static [&'static str],
}

fn rule(element: &str) -> Rule {
    let (elements, must, may): (&[_], &[_], &[_]) = match element {
        "" => (&["testsuites"], &[], &[]),
        "testsuites" => (&["testsuite"], &[], &["name", "time", "tests", "failures", "disabled", "errors"]),
        "testsuite" => (
            &["properties", "testcase", "system-out", "system-err"],
            &["name", "tests"],
            &["failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"],
        ),
        "testcase" => (
            &["skipped", "error", "failure", "system-out", "system-err"],
            &["name", "classname"],
            &["assertions", "time", "status"],
        ),
        "failure" | "error" => (&[], &["message", "type"], &[]),
        "skipped" => (&[], &[], &["message"]),
        "system-out" | "system-err" => (&[], &[], &[]),
        other => panic!("no element of JUnit XML: {other}"),
    };
    Rule { elements, must, may }
}

/// An element that is not closed yet.
struct Open {
    name: String,
    attributes: Vec<(String, String)>,
    elements: Vec<String>,
    /// How often an element of a name is in it, at whatever depth.
    inside: Vec<String>,
}

/// Fails unless the document is well-formed and as the rules say.
pub fn holds(xml: &str, what: &str) {
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    let mut open = vec![Open { name: String::new(), attributes: Vec::new(), elements: Vec::new(), inside: Vec::new() }];
    while let Some(start) = rest.find('<') {
        let (text, tag) = (&rest[..start], &rest[start + 1..]);
        let deepest = open.last().expect("the document");
        assert!(rule(&deepest.name).elements.is_empty() || text.trim().is_empty(), "{what}: text in {}", deepest.name);
        is_text(text, what);
        let end = end_of_tag(tag).unwrap_or_else(|| panic!("{what}: a tag without an end: {tag}"));
        rest = &tag[end + 1..];
        let tag = &tag[..end];
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().expect("an element");
            assert_eq!(closed.name, name, "{what}: closed before it was opened");
            close(closed, open.last_mut().expect("the document"), what);
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let element = Open {
            name: name.to_owned(),
            attributes: attributes_of(attributes, what),
            elements: Vec::new(),
            inside: Vec::new(),
        };
        open.last_mut().expect("the document").elements.push(name.to_owned());
        if closed {
            close(element, open.last_mut().expect("the document"), what);
        } else {
            open.push(element);
        }
    }
    assert!(rest.trim().is_empty(), "{what}: text after the document");
    assert_eq!(open.len(), 1, "{what}: {} is not closed", open.last().map_or("", |last| &last.name));
    assert_eq!(open[0].elements, ["testsuites"], "{what}: one document");
}

/// What holds of an element as a whole.
fn close(element: Open, outer: &mut Open, what: &str) {
    let Open { name, attributes, elements, inside } = element;
    let rule = rule(&name);
    let places: Vec<usize> = elements
        .iter()
        .map(|inner| rule.elements.iter().position(|known| known == inner))
        .map(|place| place.unwrap_or_else(|| panic!("{what}: {name} has {elements:?}")))
        .collect();
    assert!(places.is_sorted(), "{what}: the order of {elements:?} in {name}");
    let known = |attribute: &str| rule.must.iter().chain(rule.may).any(|known| *known == attribute);
    for (i, (attribute, value)) in attributes.iter().enumerate() {
        assert!(known(attribute), "{what}: {name} has an attribute {attribute}");
        assert!(attributes[..i].iter().all(|(earlier, _)| earlier != attribute), "{what}: {attribute} twice in {name}");
        let count = |of: &str| inside.iter().filter(|inner| *inner == of).count().to_string();
        match &attribute[..] {
            "tests" => assert_eq!(*value, count("testcase"), "{what}: tests of {name}"),
            "failures" => assert_eq!(*value, count("failure"), "{what}: failures of {name}"),
            "errors" => assert_eq!(*value, count("error"), "{what}: errors of {name}"),
            "skipped" => assert_eq!(*value, count("skipped"), "{what}: skipped of {name}"),
            "time" => assert!(value.parse::<f64>().is_ok_and(|time| time >= 0.0), "{what}: time of {name}: {value}"),
            _ => {}
        }
    }
    for attribute in rule.must {
        assert!(attributes.iter().any(|(name, _)| name == attribute), "{what}: {name} has no {attribute}");
    }
    outer.inside.extend(inside);
    outer.inside.push(name);
}

/// Where a tag ends: the first `>` outside of quotes.
fn end_of_tag(tag: &str) -> Option<usize> {
    let mut quoted = false;
    tag.find(|c| {
        quoted ^= c == '"';
        c == '>' && !quoted
    })
}

fn attributes_of(mut text: &str, what: &str) -> Vec<(String, String)> {
    let mut attributes = Vec::new();
    while !text.trim().is_empty() {
        let (name, rest) = text.split_once("=\"").unwrap_or_else(|| panic!("{what}: no attribute: {text}"));
        let (value, rest) = rest.split_once('"').unwrap_or_else(|| panic!("{what}: no end of {name}: {rest}"));
        assert!(!value.contains('<'), "{what}: {name} is {value}");
        is_text(value, what);
        attributes.push((name.trim().to_owned(), value.to_owned()));
        text = rest;
    }
    attributes
}

/// XML has five names for characters, and hardly any control characters.
fn is_text(text: &str, what: &str) {
    for (i, _) in text.match_indices('&') {
        let known = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"].iter().any(|name| text[i..].starts_with(name));
        assert!(known, "{what}: {}", &text[i..]);
    }
    assert!(!text.contains(|c: char| c.is_control() && !"\n\t\r".contains(c)), "{what}: {text:?}");
}
