// Talk to the server: read, ask, and hear what happens.

async function answer(response) {
  if (response.ok) return response;
  let words = `the server answered ${response.status}`;
  try {
    words = (await response.json()).error || words;
  } catch {
    // no JSON, then the number must do
  }
  throw new Error(words);
}

export const getJson = async (path) => (await answer(await fetch(path))).json();

export const postJson = async (path, body = {}) =>
  (
    await answer(
      await fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
      }),
    )
  ).json();

export const postText = async (path, text) =>
  (await answer(await fetch(path, { method: "POST", body: text }))).json();

// A picture comes as a document, not as text: there is no moment at which text becomes markup.
export const getDocument = (path) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("GET", path);
    request.responseType = "document";
    request.onload = () => (request.responseXML ? resolve(request.responseXML) : reject(new Error(path)));
    request.onerror = () => reject(new Error(path));
    request.send();
  });

// `heard` gets lists of happenings, `linked` whether the connection stands.
export function listen(heard, linked) {
  const source = new EventSource("/api/live");
  source.onmessage = (event) => heard(JSON.parse(event.data));
  source.onopen = () => linked("open");
  source.onerror = () => linked(source.readyState === EventSource.CLOSED ? "closed" : "waiting");
  addEventListener("pagehide", () => source.close());
}
