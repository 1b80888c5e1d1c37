// A program and its switches as the fragment of an address, which a browser never sends to a server.
//
// `code` is the program, compressed by raw deflate and written in base64url; `example` names a
// program of the playground instead. The pages of the documentation write the same.

export async function fragmentOf({ program, example, evidence, semantics }) {
  const fragment = new URLSearchParams();
  if (example) fragment.set("example", example);
  else fragment.set("code", await packed(program));
  fragment.set("evidence", evidence);
  fragment.set("semantics", semantics);
  return `#${fragment}`;
}

// What a fragment says; undefined where it says nothing that can be read.
export async function readFragment(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const code = fields.get("code");
  return {
    program: code === null ? undefined : await unpacked(code).catch(() => undefined),
    example: fields.get("example") ?? undefined,
    evidence: among(["declared", "observed", "claimed"], fields.get("evidence")),
    semantics: among(["namecheck", "torch-2.12"], fields.get("semantics")),
  };
}

function among(values, value) {
  return values.includes(value) ? value : undefined;
}

async function packed(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function unpacked(code) {
  const binary = atob(code.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  const text = await through(new DecompressionStream("deflate-raw"), bytes, LARGEST);
  return new TextDecoder().decode(text);
}

// A link of a stranger may expand to gigabytes.
const LARGEST = 1_000_000;

async function through(stream, bytes, limit = Infinity) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const chunks = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > limit) throw new RangeError("the program of this link is too large");
    chunks.push(value);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
