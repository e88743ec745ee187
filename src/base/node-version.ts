// Imported before everything else, so that an older Node reports the required version before anything else can fail.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  const error = new Error(`cloister needs Node 24.16 or newer; this is Node ${process.versions.node}.`);
  error.stack = `Error: ${error.message}`;
  throw error;
}
