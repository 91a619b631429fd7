//! Programs that leak, each in one place.

use super::{Kind, Program, Run};
use crate::held_out::sketch::NULL;

const fn leak(
    name: &'static str,
    classes: &'static [&'static str],
    slots: &'static [&'static str],
    run: fn(&mut Run),
) -> Program {
    Program {
        name,
        kind: Kind::Leak { classes, slots },
        run,
    }
}

pub const ALL: [Program; 18] = [
    leak(
        "a list of listeners",
        &["Listener", "Window", "Str", "Object[]"],
        &["bus", "listeners", "items", "[*]"],
        listeners,
    ),
    leak(
        "a cache that never evicts",
        &["MapEntry", "MapEntry[]", "Str", "Page", "Bytes"],
        &["cache", "pages", "table", "[*]"],
        cache,
    ),
    leak(
        "an undo history without an end",
        &["Command", "Before"],
        &["editor", "history"],
        history,
    ),
    leak(
        "a registry (search tree) keyed by id",
        &["TreeEntry", "Session", "User"],
        &["sessions", "root"],
        registry,
    ),
    leak(
        "the queue of a thread that hangs",
        &["Task", "Bytes"],
        &["worker-2", "queue"],
        stuck_queue,
    ),
    leak(
        "closures that wrap each other",
        &["Closure", "Env", "Bytes"],
        &["pipeline", "handler", "env"],
        closures,
    ),
    leak(
        "interned names",
        &["Symbol", "Str"],
        &["symbols", "buckets", "[*]"],
        interned,
    ),
    leak(
        "a map whose values grow",
        &["Point", "Object[]"],
        &["metrics", "series", "table", "[*]", "value", "points"],
        growing_values,
    ),
    leak(
        "a log that begins to leak late",
        &["AuditEntry", "Str", "Object[]"],
        &["audit", "entries", "items", "[*]"],
        late,
    ),
    leak(
        "a slow leak beside large churn",
        &["MapEntry", "MapEntry[]", "Str", "Lock"],
        &["locks", "held", "table", "[*]"],
        slow,
    ),
    leak(
        "two maps of one class, of which one grows",
        &["MapEntry", "MapEntry[]", "Str", "Order", "Line"],
        &["server", "archived", "table", "[*]"],
        two_maps,
    ),
    leak(
        "thread locals of pooled threads",
        &["MapEntry", "MapEntry[]", "Str", "Context", "Bytes"],
        &["locals", "table", "[*]"],
        thread_locals,
    ),
    leak(
        "plugins that stay after a redeploy",
        &[
            "Plugin",
            "HashMap",
            "MapEntry",
            "MapEntry[]",
            "Str",
            "Setting",
            "Template",
            "Template[]",
        ],
        &["plugins", "loaded", "items", "[*]"],
        plugins,
    ),
    leak(
        "calls that time out stay pending",
        &["MapEntry", "MapEntry[]", "Str", "Call", "Bytes"],
        &["rpc", "pending", "table", "[*]"],
        pending,
    ),
    leak(
        "detached elements of a page",
        &["Element", "Object[]"],
        &["script", "removed", "items", "[*]"],
        detached,
    ),
    leak(
        "components that are never unmounted",
        &["Component", "ArrayList", "Object[]"],
        &["ui", "root", "children", "items", "[*]"],
        components,
    ),
    leak(
        "a buffer of text that grows",
        &["u8[]"],
        &["logger", "buffer"],
        buffer,
    ),
    leak(
        "timers that nobody cancels",
        &["Timer", "Callback"],
        &["scheduler", "timers"],
        timers,
    ),
];

fn listeners(r: &mut Run) {
    let list = r.list();
    let bus = r.h.add("EventBus", &[("listeners", list)], &[]);
    r.hold("bus", bus);
    r.containers = vec![list];
    for _ in 0..r.steps {
        for _ in 0..r.about(50) {
            let title = r.text();
            let window = r.h.add("Window", &[("title", title)], &[]);
            let listener = r.h.add("Listener", &[("window", window)], &[]);
            r.list_push(list, listener);
        }
        r.snapshot();
    }
}

fn cache(r: &mut Run) {
    let map = r.map();
    let cache = r.h.add("PageCache", &[("pages", map)], &[]);
    r.hold("cache", cache);
    r.containers = vec![map];
    for _ in 0..r.steps {
        for _ in 0..r.about(60) {
            let bytes = 200 + 8 * r.dice.below(200);
            let body = r.data("Bytes", bytes);
            let page = r.h.add("Page", &[("body", body)], &[]);
            let key = r.map_len(map) as i64;
            r.map_put(map, key, page);
        }
        r.snapshot();
    }
}

fn history(r: &mut Run) {
    let editor = r.h.add("Editor", &[("history", NULL)], &[]);
    r.hold("editor", editor);
    r.containers = vec![editor];
    for _ in 0..r.steps {
        for _ in 0..r.about(80) {
            let (previous, before) = (r.h.at(editor, "history"), r.data("Before", 64));
            let slots = [("previous", previous), ("before", before)];
            let command = r.h.add("Command", &slots, &[]);
            r.h.set(editor, "history", command);
        }
        r.snapshot();
    }
}

fn registry(r: &mut Run) {
    let map = r.h.add("TreeMap", &[("root", NULL)], &[]);
    r.hold("sessions", map);
    r.containers = vec![map];
    for _ in 0..r.steps {
        for _ in 0..r.about(60) {
            let user = r.data("User", 40);
            let session = r.h.add("Session", &[("user", user)], &[]);
            let id = (r.dice.any() >> 16) as i64;
            let slots = [("left", NULL), ("right", NULL), ("value", session)];
            let entry = r.h.add("TreeEntry", &slots, &[("id", id)]);
            let (mut above, mut slot) = (map, "root");
            while r.h.at(above, slot) != NULL {
                above = r.h.at(above, slot);
                slot = if id < r.h.value(above, "id") {
                    "left"
                } else {
                    "right"
                };
            }
            r.h.set(above, slot, entry);
        }
        r.snapshot();
    }
}

fn stuck_queue(r: &mut Run) {
    let mut queues = Vec::new();
    for index in 0..4 {
        let queue = r.queue();
        let worker = r.h.add("Worker", &[("queue", queue)], &[]);
        r.h.root(&format!("thread:worker-{index}"), worker);
        queues.push(queue);
    }
    r.containers = vec![queues[2]];
    for _ in 0..r.steps {
        for (index, &queue) in queues.iter().enumerate() {
            if index != 2 {
                r.queue_clear(queue);
            }
            let count = if index == 2 {
                r.about(50)
            } else {
                r.dice.below(20)
            };
            for _ in 0..count {
                r.queue_push(queue);
            }
        }
        r.snapshot();
    }
}

fn closures(r: &mut Run) {
    let env = r.h.add("Env", &[("outer", NULL), ("captured", NULL)], &[]);
    let first = r.h.add("Closure", &[("env", env)], &[]);
    let pipeline = r.h.add("Pipeline", &[("handler", first)], &[]);
    r.hold("pipeline", pipeline);
    r.containers = vec![pipeline];
    for _ in 0..r.steps {
        for _ in 0..r.about(40) {
            let (outer, captured) = (r.h.at(pipeline, "handler"), r.data("Bytes", 80));
            let env =
                r.h.add("Env", &[("outer", outer), ("captured", captured)], &[]);
            let closure = r.h.add("Closure", &[("env", env)], &[]);
            r.h.set(pipeline, "handler", closure);
        }
        r.snapshot();
    }
}

fn interned(r: &mut Run) {
    let buckets = r.h.array("Symbol[]", 256);
    let interner = r.h.add("Interner", &[("buckets", buckets)], &[]);
    r.hold("symbols", interner);
    r.containers = vec![interner];
    for step in 0..r.steps {
        let count = if step == 0 { 200 } else { r.about(70) };
        for _ in 0..count {
            let (index, text) = (r.dice.below(256), r.text());
            let next = r.h.element(buckets, index);
            let symbol = r.h.add("Symbol", &[("next", next), ("text", text)], &[]);
            r.h.set_element(buckets, index, symbol);
        }
        r.snapshot();
    }
}

fn growing_values(r: &mut Run) {
    let map = r.map();
    let metrics = r.h.add("Metrics", &[("series", map)], &[]);
    r.hold("metrics", metrics);
    r.containers = vec![map];
    let mut lists = Vec::new();
    for key in 0..20 {
        let points = r.list();
        let series = r.h.add("Series", &[("points", points)], &[]);
        r.map_put(map, key, series);
        lists.push(points);
    }
    for _ in 0..r.steps {
        for &list in &lists {
            for _ in 0..r.about(10) {
                let point = r.h.add("Point", &[], &[("time", 1), ("value", 2)]);
                r.list_push(list, point);
            }
        }
        r.snapshot();
    }
}

fn late(r: &mut Run) {
    let list = r.list();
    let log = r.h.add("AuditLog", &[("entries", list)], &[]);
    r.hold("audit", log);
    r.containers = vec![list];
    for step in 0..8 {
        let count = match step {
            0 => 60,
            1..4 => 0,
            _ => r.about(60),
        };
        for _ in 0..count {
            let message = r.text();
            let entry = r.h.add("AuditEntry", &[("message", message)], &[]);
            r.list_push(list, entry);
        }
        r.snapshot();
    }
}

fn slow(r: &mut Run) {
    let map = r.map();
    let table = r.h.add("LockTable", &[("held", map)], &[]);
    r.hold("locks", table);
    r.containers = vec![map];
    for step in 0..r.steps {
        let count = if step == 0 { 100 } else { r.about(15) };
        for _ in 0..count {
            let (key, lock) = (r.map_len(map) as i64, r.data("Lock", 32));
            r.map_put(map, key, lock);
        }
        let requests = 300 + r.dice.below(600);
        r.snapshot_with_requests(requests);
    }
}

fn two_maps(r: &mut Run) {
    let (active, archived) = (r.map(), r.map());
    let slots = [("active", active), ("archived", archived)];
    let server = r.h.add("Server", &slots, &[]);
    r.hold("server", server);
    r.containers = vec![archived];
    for _ in 0..r.steps {
        let wanted = r.about(100);
        resize(r, active, wanted, order);
        let grown = r.map_len(archived) + r.about(40);
        resize(r, archived, grown, order);
        r.snapshot();
    }
}

fn order(r: &mut Run) -> usize {
    let line = r.data("Line", 32);
    r.h.add("Order", &[("line", line)], &[])
}

/// Gives a map that many entries, the last ones removed first.
pub fn resize(r: &mut Run, map: usize, wanted: usize, make: fn(&mut Run) -> usize) {
    while r.map_len(map) < wanted {
        let (key, value) = (r.map_len(map) as i64, make(r));
        r.map_put(map, key, value);
    }
    while r.map_len(map) > wanted {
        r.map_remove(map, r.map_len(map) as i64 - 1);
    }
}

fn thread_locals(r: &mut Run) {
    let mut maps = Vec::new();
    for index in 0..8 {
        let map = r.map();
        let thread = r.h.add("PoolThread", &[("locals", map)], &[]);
        r.h.root(&format!("thread:pool-{index}"), thread);
        maps.push(map);
    }
    r.containers = maps.clone();
    for _ in 0..r.steps {
        for &map in &maps {
            let wanted = r.map_len(map) + r.about(6);
            resize(r, map, wanted, |r| {
                let buffer = r.data("Bytes", 120);
                r.h.add("Context", &[("buffer", buffer)], &[])
            });
        }
        r.snapshot();
    }
}

fn plugins(r: &mut Run) {
    let list = r.list();
    let manager = r.h.add("PluginManager", &[("loaded", list)], &[]);
    r.hold("plugins", manager);
    r.containers = vec![list];
    for _ in 0..r.steps {
        let config = r.map();
        resize(r, config, 40, |r| r.data("Setting", 32));
        let templates = r.h.array("Template[]", 30);
        for index in 0..30 {
            let template = r.data("Template", 96);
            r.h.set_element(templates, index, template);
        }
        let slots = [("config", config), ("templates", templates)];
        let plugin = r.h.add("Plugin", &slots, &[]);
        r.list_push(list, plugin);
        r.snapshot();
    }
}

fn pending(r: &mut Run) {
    let map = r.map();
    let client = r.h.add("RpcClient", &[("pending", map)], &[]);
    r.hold("rpc", client);
    r.containers = vec![map];
    let (mut next, mut answered) = (0, Vec::new());
    for _ in 0..r.steps {
        for key in answered.drain(..) {
            r.map_remove(map, key);
        }
        for _ in 0..r.about(200) {
            let request = r.data("Bytes", 96);
            let call = r.h.add("Call", &[("request", request)], &[]);
            r.map_put(map, next, call);
            // Most are answered before the snapshot, some after it, some never.
            match r.dice.below(10) {
                0 | 1 => {}
                2 => answered.push(next),
                _ => r.map_remove(map, next),
            }
            next += 1;
        }
        r.snapshot();
    }
}

/// A tree of elements, of that many.
fn elements(r: &mut Run, count: usize) -> usize {
    let mut all: Vec<usize> = Vec::new();
    for _ in 0..count {
        let parent = if all.is_empty() {
            NULL
        } else {
            r.dice.pick(&all)
        };
        let next = if parent == NULL {
            NULL
        } else {
            r.h.at(parent, "first")
        };
        let slots = [("parent", parent), ("first", NULL), ("next", next)];
        let element = r.h.add("Element", &slots, &[]);
        if parent != NULL {
            r.h.set(parent, "first", element);
        }
        all.push(element);
    }
    all[0]
}

fn detached(r: &mut Run) {
    let removed = r.list();
    let script = r.h.add("Script", &[("removed", removed)], &[]);
    r.hold("script", script);
    r.containers = vec![removed];
    let page = r.h.add("Document", &[("body", NULL)], &[]);
    r.hold("page", page);
    for _ in 0..r.steps {
        let size = r.about(300);
        let body = elements(r, size);
        r.h.set(page, "body", body);
        for _ in 0..r.about(10) {
            let dialog = elements(r, 8);
            r.list_push(removed, dialog);
        }
        r.snapshot();
    }
}

fn component(r: &mut Run, parent: usize) -> usize {
    let children = r.list();
    let slots = [("parent", parent), ("children", children)];
    let component = r.h.add("Component", &slots, &[]);
    if parent != NULL {
        r.list_push(r.h.at(parent, "children"), component);
    }
    component
}

fn components(r: &mut Run) {
    let root = component(r, NULL);
    let ui = r.h.add("Ui", &[("root", root)], &[]);
    r.hold("ui", ui);
    r.containers = vec![root];
    for _ in 0..r.steps {
        for _ in 0..r.about(10) {
            let dialog = component(r, root);
            for _ in 0..5 {
                component(r, dialog);
            }
        }
        r.snapshot();
    }
}

fn buffer(r: &mut Run) {
    let logger = r.h.add("Logger", &[("buffer", NULL)], &[]);
    r.hold("logger", logger);
    r.containers = vec![logger];
    let mut bytes = 4000;
    for _ in 0..r.steps {
        let buffer = r.data("u8[]", bytes);
        r.h.set(logger, "buffer", buffer);
        bytes += 8 * r.about(500);
        r.snapshot();
    }
}

fn timers(r: &mut Run) {
    let scheduler = r.h.add("Scheduler", &[("timers", NULL)], &[]);
    r.hold("scheduler", scheduler);
    r.containers = vec![scheduler];
    for _ in 0..r.steps {
        for _ in 0..r.about(60) {
            let first = r.h.at(scheduler, "timers");
            let callback = r.data("Callback", 24);
            let slots = [("next", first), ("prev", NULL), ("callback", callback)];
            let timer = r.h.add("Timer", &slots, &[]);
            if first != NULL {
                r.h.set(first, "prev", timer);
            }
            r.h.set(scheduler, "timers", timer);
        }
        r.snapshot();
    }
}
