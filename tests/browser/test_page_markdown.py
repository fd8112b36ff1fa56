"""Discord's markdown as the page draws it, and where each character of it came from."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from minamo.testing.strategies import markdown_texts, texts
from support.page import rig

pytestmark = pytest.mark.anyio

# The elements that matter, without what is the same for all of them.
DRAW = """async ([text, names]) => {
  const { markdown } = await import('/page/markdown.js');
  const { originOf } = await import('/page/inline.js');
  const home = document.createElement('div');
  home.append(markdown(text, names));
  const walk = document.createTreeWalker(home, NodeFilter.SHOW_TEXT);
  const wrong = [];
  let last = -1;
  while (walk.nextNode()) {
    const node = walk.currentNode, at = originOf(node);
    if (at === undefined || at < last) wrong.push([node.data, at]);
    const token = text[at] === '<' && !text.startsWith(node.data, at);
    if (at !== undefined && !token && !text.startsWith(node.data, at)) wrong.push([node.data, at]);
    last = at ?? last;
  }
  for (const one of home.querySelectorAll('*')) {
    for (const name of ['tabindex', 'role', 'aria-label', 'target', 'rel', 'title']) one.removeAttribute(name);
  }
  return [home.innerHTML, wrong];
}"""

CASES = {
    "plain": "plain",
    "**bold** *it* _it_ __under__ ~~gone~~": "<strong>bold</strong> <em>it</em> <em>it</em> <u>under</u> <s>gone</s>",
    "***both*** **a *b* c**": "<strong><em>both</em></strong> <strong>a <em>b</em> c</strong>",
    "snake_case_word 2 * 3 * 4": "snake_case_word 2 * 3 * 4",
    "\\*not\\* **open": "*not* **open",
    "||hide **this**||": '<span class="md-spoiler">hide <strong>this</strong></span>',
    "`**code**` ``a`b``": '<code class="md-code">**code**</code> <code class="md-code">a`b</code>',
    "# One\n## Two\n### Three\n#four": '<h3 class="md-h1">One</h3><h4 class="md-h2">Two</h4><h5 class="md-h3">Three</h5>#four',
    "-# small\nafter": '<small class="md-sub">small</small>after',
    "> a\n> b\nc": "<blockquote>a<br>b</blockquote>c",
    ">>> all\nof it": "<blockquote>all\nof it</blockquote>",
    "- a\n- **b**\n  - c": '<ul><li>a</li><li><strong>b</strong></li><li class="nested">c</li></ul>',
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "```py\nx = 1\n```after": '<pre><code data-language="py">x = <span class="tok-number">1</span></code></pre>after',
    "a\n```\n<b> **c**\n```": "a<pre><code>&lt;b&gt; **c**</code></pre>",
    "```open": "```open",
    "[label](https://a.invalid/b) https://c.invalid/d.": '<a href="https://a.invalid/b">label</a> <a href="https://c.invalid/d">https://c.invalid/d</a>.',
    "[x](javascript:alert(1)) <javascript:x>": "[x](javascript:alert(1)) &lt;javascript:x&gt;",
    "<@7> <@!8> <#9> <@&5>": '<span class="md-mention">@ann</span> <span class="md-mention">@someone</span> <span class="md-mention">#general</span> <span class="md-mention">@role</span>',
    "<:wave:12> <a:dance:13> </ask me:14>": '<span class="md-emoji">:wave:</span> <span class="md-emoji">:dance:</span> <span class="md-mention">/ask me</span>',
    "<script>alert(1)</script>": "&lt;script&gt;alert(1)&lt;/script&gt;",
    "<https://e.invalid>": '<a href="https://e.invalid">https://e.invalid</a>',
}


@pytest.fixture(scope="module")
async def drawn(browser):
    """Draw a text with the page's own scripts."""
    async with rig(quick=True) as made:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(made.served.address)
        await page.wait_for_selector("html[data-ready=yes]")

        async def draw(text):
            return await page.evaluate(DRAW, [text, {"7": "ann", "9": "general"}])

        yield draw
        await context.close()


@pytest.mark.parametrize("text", CASES)
async def test_markdown(drawn, text):
    html, wrong = await drawn(text)
    assert html == CASES[text]
    assert wrong == []


async def test_timestamps(drawn):
    html, _ = await drawn("<t:1700000000:R> <t:1700000000> <t:99999999999999999>")
    assert html.count('<time class="md-time">') == 3
    assert "ago" in html
    assert "invalid date" in html


async def test_any_text_is_drawn_in_time_and_can_be_followed(drawn):
    found = []

    @settings(max_examples=60)
    @given(texts(5) | markdown_texts(5))
    def collect(text):
        found.append(text[:2000].encode("utf-8", "replace").decode())

    collect()
    for text in found:
        _, wrong = await drawn(text)
        assert wrong == []
