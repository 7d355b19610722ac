//! Routes as text: a table for people, JSON, and CSV. [`RouteText`] writes some pairs at a time, so that no answer is too long.

mod numbers;

use self::numbers::{push_exact, push_rounded};
use super::Graph;
use super::routes::PairRoutes;
use crate::spec::{LinkId, NodeId};
use std::iter::once;
use std::ops::Range;

/// Between the nodes of a path.
const ARROW: &str = " > ";
/// Between the columns of a table.
const GAP: &str = "  ";
/// What a spreadsheet takes for the beginning of a formula (OWASP, "CSV Injection"), and the guard itself.
const FORMULAS: [char; 5] = ['=', '+', '-', '@', GUARD];
const GUARD: char = '\'';

/// Writes routes of one network.
pub struct RouteText {
    /// The node where each link ends.
    ends: Vec<NodeId>,
    names: Vec<String>,
    /// The names as JSON strings.
    quoted: Vec<String>,
    /// The columns of a terminal that each name takes.
    widths: Vec<usize>,
    knows_delay: bool,
    knows_loss: bool,
}

/// A path, of the columns of [`PairRoutes`].
struct PathRow<'a> {
    src: NodeId,
    links: &'a [LinkId],
    share: f64,
    delay_s: f64,
    loss: f64,
    cost: f64,
}

/// The cells of a table, one after another: their text, and where each ends, with its width.
#[derive(Default)]
struct Cells {
    text: String,
    ends: Vec<(usize, usize)>,
}

impl Cells {
    /// Ends a cell of ASCII.
    fn end(&mut self) {
        let begin = self.ends.last().map_or(0, |(end, _)| *end);
        self.ends.push((self.text.len(), self.text.len() - begin));
    }

    /// Ends a cell of this width.
    fn end_of_width(&mut self, width: usize) {
        self.ends.push((self.text.len(), width));
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.end();
    }
}

/// The columns of a table: source, target and path to the left, numbers to the right.
const LEFT: usize = 3;

impl RouteText {
    /// For the nodes of `graph`, with their names and the columns that these take on a terminal. A delay or loss that is not known for all
    /// links is left out of every row.
    ///
    /// # Panics
    /// If a node has no name or no width.
    pub fn new(
        graph: &Graph,
        names: Vec<String>,
        widths: Vec<usize>,
        knows_delay: bool,
        knows_loss: bool,
    ) -> RouteText {
        assert!(names.len() == graph.nodes() && widths.len() == graph.nodes(), "a name and a width for each node");
        let quoted = names.iter().map(|name| serde_json::json!(name).to_string()).collect();
        let ends = graph.links().iter().map(|link| link.dst).collect();
        RouteText { ends, names, quoted, widths, knows_delay, knows_loss }
    }

    /// Rows of a table, one for each path; a pair without one has a row that says so. `widths` has a width for each column, which this
    /// raises where a cell is wider: source, target, path, the share if it is wanted, delay in milliseconds, loss, and cost.
    pub fn table(&self, found: &[&PairRoutes], widths: &mut [usize], with_share: bool) -> String {
        let mut cells = Cells::default();
        for (src, dst, paths) in found.iter().flat_map(|found| pairs(found)) {
            let ends = |cells: &mut Cells| {
                for node in [src, dst] {
                    cells.text.push_str(&self.names[node as usize]);
                    cells.end_of_width(self.widths[node as usize]);
                }
            };
            if paths.is_empty() {
                ends(&mut cells);
                cells.push("no path");
                (0..widths.len() - LEFT).for_each(|_| cells.push("-"));
            }
            for path in paths {
                ends(&mut cells);
                cells.end_path(self, &path);
                if with_share {
                    push_rounded(&mut cells.text, path.share, 3);
                    cells.end();
                }
                for number in [self.delay(&path).map(|delay| delay * 1e3), self.loss(&path), Some(path.cost)] {
                    match number {
                        Some(number) => push_rounded(&mut cells.text, number, 4),
                        None => cells.text.push('-'),
                    }
                    cells.end();
                }
            }
        }
        for row in cells.ends.chunks(widths.len()) {
            for ((_, width), widest) in row.iter().zip(&mut *widths) {
                *widest = (*width).max(*widest);
            }
        }
        laid_out(&cells, widths)
    }

    /// The records of pairs as `anabranch routes --json` has them, with a comma between two. Lines are indented by one blank for each level if the
    /// document is for people, else each record is a line.
    pub fn json(&self, found: &PairRoutes, is_indented: bool) -> String {
        let mut json = Json { out: String::new(), is_indented };
        for (place, (src, dst, paths)) in pairs(found).enumerate() {
            if place > 0 {
                json.out.push_str(if is_indented { ",\n" } else { "\n" });
            }
            json.begin(2, '{');
            json.key(3, "src", true);
            json.out.push_str(&self.quoted[src as usize]);
            json.key(3, "dst", false);
            json.out.push_str(&self.quoted[dst as usize]);
            match &paths[..] {
                [] => {
                    for key in ["path", "delay_s", "loss", "cost"] {
                        json.key(3, key, false);
                        json.out.push_str("null");
                    }
                }
                [path] => self.json_path(&mut json, path, 3, false),
                several => {
                    json.key(3, "paths", false);
                    json.out.push('[');
                    for (place, path) in several.iter().enumerate() {
                        json.next(4, place == 0);
                        json.out.push('{');
                        self.json_path(&mut json, path, 5, true);
                        json.key(5, "fraction", false);
                        push_exact(&mut json.out, path.share);
                        json.end(4, '}');
                    }
                    json.end(3, ']');
                }
            }
            json.end(2, '}');
        }
        json.out
    }

    fn json_path(&self, json: &mut Json, path: &PathRow, level: usize, is_first: bool) {
        json.key(level, "path", is_first);
        json.out.push('[');
        for (place, node) in self.nodes(path).enumerate() {
            json.next(level + 1, place == 0);
            json.out.push_str(&self.quoted[node as usize]);
        }
        json.end(level, ']');
        for (key, number) in [("delay_s", self.delay(path)), ("loss", self.loss(path)), ("cost", Some(path.cost))] {
            json.key(level, key, false);
            match number {
                Some(number) => push_exact(&mut json.out, number),
                None => json.out.push_str("null"),
            }
        }
    }

    /// Rows of CSV: source, target, path, share, delay in seconds, loss, cost. What is not known is empty, and so is all of a pair without a
    /// path. `'` guards texts that a spreadsheet would execute, if that is wanted.
    pub fn csv(&self, found: &PairRoutes, is_guarded: bool) -> String {
        let mut out = String::new();
        let mut text = String::new();
        for (src, dst, paths) in pairs(found) {
            let ends = |out: &mut String| {
                for node in [src, dst] {
                    push_cell(out, &self.names[node as usize], is_guarded);
                    out.push(',');
                }
            };
            if paths.is_empty() {
                ends(&mut out);
                out.push_str(",,,,\n");
            }
            for path in &paths {
                ends(&mut out);
                text.clear();
                self.push_path(&mut text, path);
                push_cell(&mut out, &text, is_guarded);
                for number in [Some(path.share), self.delay(path), self.loss(path), Some(path.cost)] {
                    out.push(',');
                    if let Some(number) = number {
                        push_exact(&mut out, number);
                    }
                }
                out.push('\n');
            }
        }
        out
    }

    fn nodes<'a>(&'a self, path: &'a PathRow) -> impl Iterator<Item = NodeId> + 'a {
        once(path.src).chain(path.links.iter().map(|&link| self.ends[link as usize]))
    }

    fn push_path(&self, out: &mut String, path: &PathRow) {
        for (place, node) in self.nodes(path).enumerate() {
            if place > 0 {
                out.push_str(ARROW);
            }
            out.push_str(&self.names[node as usize]);
        }
    }

    fn delay(&self, path: &PathRow) -> Option<f64> {
        self.knows_delay.then_some(path.delay_s)
    }

    fn loss(&self, path: &PathRow) -> Option<f64> {
        self.knows_loss.then_some(path.loss)
    }
}

impl Cells {
    fn end_path(&mut self, names: &RouteText, path: &PathRow) {
        names.push_path(&mut self.text, path);
        let nodes: usize = names.nodes(path).map(|node| names.widths[node as usize]).sum();
        self.end_of_width(nodes + path.links.len() * ARROW.len());
    }
}

/// A JSON text in progress.
struct Json {
    out: String,
    is_indented: bool,
}

impl Json {
    fn begin(&mut self, level: usize, bracket: char) {
        if self.is_indented {
            self.out.extend(std::iter::repeat_n(' ', level));
        }
        self.out.push(bracket);
    }

    /// Goes on to the next value of an object or list.
    fn next(&mut self, level: usize, is_first: bool) {
        if !is_first {
            self.out.push_str(if self.is_indented { "," } else { ", " });
        }
        self.line(level);
    }

    fn key(&mut self, level: usize, key: &str, is_first: bool) {
        self.next(level, is_first);
        self.out.push('"');
        self.out.push_str(key);
        self.out.push_str("\": ");
    }

    fn end(&mut self, level: usize, bracket: char) {
        self.line(level);
        self.out.push(bracket);
    }

    fn line(&mut self, level: usize) {
        if self.is_indented {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', level));
        }
    }
}

/// The pairs with their paths.
fn pairs(found: &PairRoutes) -> impl Iterator<Item = (NodeId, NodeId, Vec<PathRow<'_>>)> {
    let (mut path, mut link) = (0, 0);
    (0..found.src.len()).map(move |pair| {
        let src = found.src[pair];
        let numbers: Range<usize> = path..path + found.paths[pair] as usize;
        path = numbers.end;
        let paths = numbers
            .map(|path| {
                let links = &found.links[link..link + found.hops[path] as usize];
                link += links.len();
                let (share, cost) = (found.share[path], found.cost[path]);
                PathRow { src, links, share, delay_s: found.delay_s[path], loss: found.loss[path], cost }
            })
            .collect();
        (src, found.dst[pair], paths)
    })
}

fn laid_out(cells: &Cells, widths: &[usize]) -> String {
    let line: usize = widths.iter().map(|width| width + GAP.len()).sum();
    let mut out = String::with_capacity(cells.ends.len() / widths.len() * line);
    let mut begin = 0;
    for row in cells.ends.chunks(widths.len()) {
        for (column, ((end, width), widest)) in row.iter().zip(widths).enumerate() {
            let text = &cells.text[begin..*end];
            let blanks = std::iter::repeat_n(' ', widest - width);
            if column > 0 {
                out.push_str(GAP);
            }
            if column < LEFT {
                out.push_str(text);
                out.extend(blanks);
            } else {
                out.extend(blanks);
                out.push_str(text);
            }
            begin = *end;
        }
        out.push('\n');
    }
    out
}

/// A cell of CSV (RFC 4180, section 2).
fn push_cell(out: &mut String, text: &str, is_guarded: bool) {
    let guard = if is_guarded && text.starts_with(FORMULAS) { "'" } else { "" };
    if text.contains([',', '"']) {
        out.push('"');
        out.push_str(guard);
        out.push_str(&text.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(guard);
        out.push_str(text);
    }
}
