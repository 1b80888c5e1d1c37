// Puts the package into the files of a Python that runs here.

const FOLDER = "/lib/playground";

export function install(python, texts) {
  const folders = new Set();
  for (const [path, text] of Object.entries(texts)) {
    const name = `${FOLDER}/${path}`;
    const folder = name.slice(0, name.lastIndexOf("/"));
    if (!folders.has(folder)) python.FS.mkdirTree(folder);
    folders.add(folder);
    python.FS.writeFile(name, text);
  }
  python.runPython(`
import sys
sys.dont_write_bytecode = True
if "${FOLDER}" not in sys.path:
    sys.path.append("${FOLDER}")
`);
}
