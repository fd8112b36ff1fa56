// Colour code a little, whatever the language: comments, strings, numbers, words of the language.

const WORDS = new Set(
  ("abstract and as assert async await bool boolean break case catch char class const continue def default defer del do double elif else end enum " +
    "except export extends extern false final finally float fn for from func function global go goto if impl implements import in " +
    "instanceof int interface is lambda let local long loop match mod module mut namespace new nil none nonlocal not null nullptr " +
    "of or override package pass private protected pub public raise readonly ref return self short static str string struct super " +
    "switch template then this throw throws trait true try type typedef typeof undefined union unless unsafe unsigned until use " +
    "using val var virtual void when where while with yield True False None Self select insert update delete create table values " +
    "into join left right inner group order by having limit set echo fi done esac SELECT FROM WHERE INSERT UPDATE DELETE CREATE " +
    "TABLE VALUES INTO JOIN GROUP ORDER BY LIMIT SET AND OR NOT NULL AS ON").split(" "),
);
const HASH = new Set("py python rb ruby sh bash zsh shell yaml yml toml r perl pl make makefile dockerfile ini conf elixir ex nim".split(" "));
const DASH = new Set("sql lua hs haskell ada elm".split(" "));
const PLAIN = new Set(["", "text", "txt", "plain", "plaintext", "md", "markdown", "ansi"]);

function pattern(language) {
  const comments = ["\\/\\*[^]*?(?:\\*\\/|$)"];
  if (HASH.has(language)) comments.push("#[^\\n]*");
  else if (DASH.has(language)) comments.push("--[^\\n]*");
  else comments.push("\\/\\/[^\\n]*");
  if (language === "html" || language === "xml") comments.push("<!--[^]*?(?:-->|$)");
  return new RegExp(
    `(?<comment>${comments.join("|")})` +
      `|(?<string>"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?|\`(?:\\\\.|[^\`\\\\])*\`?)` +
      "|(?<number>\\b(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\\b)" +
      "|(?<word>[A-Za-z_][A-Za-z0-9_]*)(?<call>(?=\\())?",
    "g",
  );
}

// Parts of `code` as [kind, text], in order, nothing left out.
export function highlight(code, language) {
  const name = language.toLowerCase();
  if (PLAIN.has(name)) return [["", code]];
  const parts = [];
  let done = 0;
  for (const found of code.matchAll(pattern(name))) {
    const { comment, string, number, word, call } = found.groups;
    let kind = "";
    if (comment !== undefined) kind = "comment";
    else if (string !== undefined) kind = "string";
    else if (number !== undefined) kind = "number";
    else if (WORDS.has(word)) kind = "keyword";
    else if (call !== undefined) kind = "call";
    if (!kind) continue;
    if (found.index > done) parts.push(["", code.slice(done, found.index)]);
    parts.push([kind, found[0]]);
    done = found.index + found[0].length;
  }
  if (done < code.length) parts.push(["", code.slice(done)]);
  return parts;
}
