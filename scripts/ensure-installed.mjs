// Runs before every npm script: installs the packages of package-lock.json that are missing, and prints nothing if there are none. Plain JavaScript
// without dependencies, because the first time the machine's own Node runs it, whatever its version.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join, sep } from "node:path";

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");

if (isBehind()) install();

/** True if node_modules lacks a package of the lock file, or has another version of it. */
function isBehind() {
  const installed = packagesOf("node_modules/.package-lock.json");
  const wanted = packagesOf("package-lock.json");
  if (wanted === null) fail("package-lock.json is missing");
  if (installed === null || !existsSync(join(root, "node_modules/.bin/node"))) return true;
  // npm installs only those optional packages that fit the platform.
  return Object.entries(wanted).some(
    ([path, entry]) => path !== "" && !entry.optional && installed[path]?.integrity !== entry.integrity,
  );
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages;
  } catch {
    return null;
  }
}

function install() {
  console.error("Installing dependencies (npm ci); this happens once…");
  // npm has to run on the machine's own Node, because the one in node_modules is about to be replaced.
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.includes(`node_modules${sep}.bin`));
  const environment = {
    ...process.env,
    PATH: path.join(delimiter),
    npm_config_audit: "false",
    npm_config_fund: "false",
  };
  const { status, error } = spawnSync("npm", ["ci", "--loglevel=error"], {
    cwd: root,
    env: environment,
    stdio: "inherit",
  });
  if (error) fail(`npm ci could not run: ${error.message}`);
  if (status !== 0) fail("npm ci failed: see above");
  if (!existsSync(join(root, "node_modules/node/bin/node")))
    fail("npm did not run the install script of the package `node`");
}

function fail(reason) {
  console.error(`Cannot install: ${reason}`);
  process.exit(1);
}
