//! Reports as pages: whole, safe whatever names are in them, and alive in a browser where there is one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::folder::Folder;
use crate::{run, told};

/// A line for each report that is a page.
const PAGES: [&str; 14] = [
    "check web.heap --rules web.deal",
    "check web.heap 'query Task t: t.next != null select t.next limit 5'",
    "probe web.heap dom Pool Connection#1",
    "probe web.heap thread-reach Log",
    "eval web.heap '(reach(pool) - {pool}).size()' --bind pool=Pool",
    "path web.heap Connection#1 --count 5",
    "info web.heap --all",
    "dominators web.heap",
    "suspects orders-5.heap",
    "diff orders-1.heap orders-2.heap",
    "waste waste.heap",
    "grow orders-1.heap orders-2.heap orders-3.heap orders-4.heap orders-5.heap --table",
    "shapes orders-5.heap",
    "summary orders-5.heap --graph field-wise",
];

fn page(line: &str) -> String {
    let output = run(&format!("{line} --format html"));
    assert_ne!(output.status.code(), Some(2), "{line}: {}", told(&output));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn every_report_is_a_page_that_needs_nothing_else() {
    for line in PAGES {
        let page = page(line);
        assert!(page.starts_with("<!doctype html>\n"), "{line}");
        assert!(page.ends_with("</html>\n"), "{line}");
        check_tags(&page);
        assert_eq!(page.matches("<script").count(), 1, "{line}");
        for loads in [
            "http:", "https:", "src=", "url(", "@import", "<link", "<img", "<iframe",
        ] {
            let page = page
                .replace("http-equiv", "")
                .replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            assert!(!page.contains(loads), "{line}: {loads}");
        }
    }
}

/// Panics unless each tag is closed, inside what it was opened in.
fn check_tags(page: &str) {
    let style = page.find("<style>").unwrap()..page.find("</style>").unwrap();
    let script = page.find("<script>").unwrap()..page.find("</script>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    for (at, _) in page.match_indices('<') {
        let is_inside = |it: &std::ops::Range<usize>| it.start < at && at < it.end;
        if is_inside(&style) || is_inside(&script) {
            continue;
        }
        let tag = &page[at + 1..];
        let end = tag
            .find('>')
            .unwrap_or_else(|| panic!("`<{tag}` is not closed"));
        let tag = &tag[..end];
        let name = tag.split([' ', '/']).find(|it| !it.is_empty()).unwrap();
        match tag {
            tag if tag.starts_with('!') || tag.ends_with('/') || name == "meta" => {}
            tag if tag.starts_with('/') => assert_eq!(open.pop(), Some(name)),
            _ => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
}

/// A heap whose names are what somebody would write who wants a browser to do something.
const HOSTILE: &str = r##"
root static:"<script>document.title='broken'</script>" -> "<script>document.title='broken'</script>"#1
"<script>document.title='broken'</script>"#1."\"><img src=x onerror=alert(1)>" -> "</title></style></script>&lt;"#2
"</title></style></script>&lt;"#2."' style='x" -> "' onclick='alert(1)"#3
"##;

#[test]
fn a_name_is_never_a_tag() {
    let here = Folder::new("html-hostile");
    here.write("hostile.heap", HOSTILE);
    for line in [
        "info hostile.heap --all",
        "dominators hostile.heap",
        "suspects hostile.heap --min 1",
        "path hostile.heap '\"'\"'\"' onclick='\"'\"'alert(1)\"#3'",
        "summary hostile.heap --graph field-wise",
        "eval hostile.heap 'true'",
    ] {
        let output = here.sh(&format!("$H {line} --format html"));
        let page = String::from_utf8(output.stdout).unwrap();
        assert!(page.ends_with("</html>\n"), "{line}: {:?}", output.stderr);
        check_tags(&page);
        assert_eq!(page.matches("<script").count(), 1, "{line}");
        assert!(
            !page.contains("<img") && !page.contains("broken'<"),
            "{line}"
        );
    }
}

#[test]
fn a_problem_is_a_page_too() {
    let output = run("info no.heap --format html");
    assert_eq!(output.status.code(), Some(2));
    let page = String::from_utf8(output.stdout).unwrap();
    check_tags(&page);
    assert!(page.contains("cannot read no.heap"), "{page}");
}

/// Returns what a browser makes of a page, and what it complains about.
fn browse(folder: &Path, page: &str) -> Option<(String, String)> {
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |it: &&str| {
        let version = Command::new(it)
            .arg("--version")
            .stdout(Stdio::null())
            .status();
        version.is_ok_and(|it| it.success())
    };
    let browser = browser.into_iter().find(is_there)?;
    let file = folder.join("page.html");
    fs::write(&file, page).unwrap();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--enable-logging=stderr",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.join("browser").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("it runs");
    let dom = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let complaints = said.lines().filter(|it| it.contains("CONSOLE"));
    Some((dom, complaints.collect::<Vec<_>>().join("\n")))
}

#[test]
fn a_browser_runs_our_script_and_no_other() {
    let here = Folder::new("html-browser");
    here.write("hostile.heap", HOSTILE);
    let output = here.sh("$H info hostile.heap --all --format html");
    let page = String::from_utf8(output.stdout).unwrap();
    // Even a tag that had got in would not run.
    let smuggled = page.replace("<main>", "<main><script>document.title = 'broken'</script>");
    assert_ne!(page, smuggled);
    let Some((dom, complaints)) = browse(&here.0, &page) else {
        eprintln!("skipped: there is no chromium to look at pages with");
        return;
    };
    assert_eq!(complaints, "");
    assert!(
        dom.contains("<th scope=\"col\"><button type=\"button\">class</button></th>"),
        "{dom}"
    );
    let (dom, complaints) = browse(&here.0, &smuggled).unwrap();
    assert!(
        dom.contains("<title>hostile.heap – heaphound info</title>"),
        "{dom}"
    );
    assert!(
        complaints.contains("Content Security Policy"),
        "{complaints}"
    );
}

#[test]
fn a_browser_sorts_tables_opens_findings_and_marks_objects() {
    let here = Folder::new("html-sorted");
    // What a person does, with a policy that lets it.
    let act = "<script>
        const done = [];
        const note = (what) => done.push(what);
        const head = (title) => [...document.querySelectorAll('th button')].find((it) => it.textContent === title);
        const first = () => document.querySelector('tbody tr').cells[0].textContent;
        if (head('class')) {
            head('objects').click(); note(first());
            head('class').click(); note(first());
            head('class').click(); note(first());
            const search = document.querySelector('input[type=search]');
            search.value = 'sock';
            search.dispatchEvent(new Event('input'));
            note([...document.querySelectorAll('tbody')[0].rows].filter((it) => !it.hidden).length);
        } else {
            const open = () => document.querySelectorAll('details.finding[open]').length;
            const [openAll, closeAll] = document.querySelectorAll('.tools button');
            closeAll.click(); note(open());
            openAll.click(); note(open());
            document.querySelector('.o').click();
            note([...document.querySelectorAll('.marked')].map((it) => it.textContent).join());
        }
        document.title = done.join('|');
    </script></body>";
    let acted = |line: &str| {
        let page = page(line).replace("Content-Security-Policy", "no-policy");
        browse(&here.0, &page.replace("</body>", act))
    };
    let Some((dom, complaints)) = acted("info web.heap --all") else {
        eprintln!("skipped: there is no chromium to look at pages with");
        return;
    };
    assert_eq!(complaints, "");
    assert!(dom.contains("<title>Task|Buffer|User|1</title>"), "{dom}");
    let (dom, complaints) = acted("check web.heap --rules web.deal").unwrap();
    assert_eq!(complaints, "");
    assert!(
        dom.contains("<title>0|3|Task#1,Task#1,Task#1,Task#1</title>"),
        "{dom}"
    );
}
