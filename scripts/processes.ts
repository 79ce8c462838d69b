// Child processes that cannot outlive their parent, and one-line reports of the system's errors, for the local stack and its tests.
import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** An error on which a person can act. It is printed as one line, without a stack. */
export class StackError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "StackError";
  }
}

/** One line for an error with a cause outside the program: a StackError, or a file to which the system denies access. */
export function toErrorLine(error: unknown): string | null {
  if (error instanceof StackError) return error.message;
  const { code, path } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code === undefined || path === undefined) return null;
  const [owner, me] = [ownerOf(path), process.getuid?.()];
  const whose = owner === undefined || owner === me ? "" : `: it belongs to user ${owner}, this is user ${me}`;
  return `${toShortPath(path)} cannot be used (${code}${whose})`;
}

/** The short form of a path, for messages. */
export const toShortPath = (path: string): string => {
  const short = relative(process.cwd(), path);
  return short === "" || short.startsWith("..") ? path : short;
};

/** Makes the folder if it is missing. Reports another user's folder in one line, because the tools would report it late and at length. */
export function requireFolder(folder: string, entries: readonly string[], advice: string): void {
  const { R_OK, W_OK, X_OK } = constants;
  try {
    mkdirSync(folder, { recursive: true });
    for (const path of ["", ...entries].map((name) => join(folder, name)).filter((path) => existsSync(path))) {
      accessSync(path, R_OK | W_OK | (statSync(path).isDirectory() ? X_OK : 0));
    }
  } catch (error) {
    throw new StackError(`${toErrorLine(error)}: ${advice}`);
  }
}

function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

export type Group = {
  readonly pid: number;
  /** Resolves when the process has ended, with its exit code or signal. */
  readonly ended: Promise<string>;
  /** Asks the process to end, kills it after a while, and waits until its whole group is gone. */
  readonly stop: () => Promise<void>;
};
export type GroupOptions = { cwd: string; env: NodeJS.ProcessEnv; onOutput: (text: string) => void };

export type Guard = {
  /** Puts a process (or, negative, a group) under the guard. */
  readonly add: (pid: number) => void;
  readonly close: () => void;
};

const PATIENCE_MS = 8_000;
const LAST_WAIT_MS = 8_000;
// A guard process: it ends the registered processes as soon as its parent is gone, even after a SIGKILL.
const GUARD_SCRIPT = `
pids=
while read -r word pid; do
  case "$word" in add) pids="$pids $pid" ;; close) exit 0 ;; esac
done
for pid in $pids; do kill -s TERM -- "$pid"; done 2>/dev/null
sleep 3
for pid in $pids; do kill -s KILL -- "$pid"; done 2>/dev/null`;

/** Starts a separate process group, so that Ctrl-C in the terminal reaches only the parent, which then ends its children in order. */
export function spawnGroup(command: readonly string[], { cwd, env, onOutput }: GroupOptions): Group {
  const [file = "", ...args] = command;
  const child = spawn(file, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const pid = child.pid ?? 0;
  const forget = atExit(() => signalGroup(pid, "SIGKILL"));
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", onOutput);
  const ended = awaitEnd(child);
  return {
    pid,
    ended,
    stop: async () => {
      signalGroup(pid, "SIGTERM");
      await awaitEndWithin(ended, PATIENCE_MS);
      // The leader has ended, but its children may still run.
      signalGroup(pid, "SIGKILL");
      await awaitCondition(() => !signalGroup(pid, 0), LAST_WAIT_MS);
      forget();
    },
  };
}

const endings = new Set<() => void>();

/**
 * Calls `end` when this process exits, unless the returned function is called before. One listener serves all, because Node.js warns of more than
 * ten.
 */
export function atExit(end: () => void): () => void {
  if (endings.size === 0) process.once("exit", endAll);
  endings.add(end);
  return () => {
    endings.delete(end);
    if (endings.size === 0) process.off("exit", endAll);
  };
}

function endAll(): void {
  for (const end of endings) end();
}

/** Runs a command to its end and returns its output. Throws a StackError with the line that explains a failure. */
export async function run(
  what: string,
  command: readonly string[],
  options: Omit<GroupOptions, "onOutput"> & { guard: Guard; signal: AbortSignal },
): Promise<string> {
  const { guard, signal } = options;
  let output = "";
  const group = spawnGroup(command, {
    ...options,
    onOutput: (text) => {
      output += text;
    },
  });
  guard.add(-group.pid);
  const stop = () => void group.stop();
  signal.addEventListener("abort", stop);
  const ending = await group.ended;
  signal.removeEventListener("abort", stop);
  await group.stop();
  signal.throwIfAborted();
  if (ending !== "code 0") throw new StackError(`${what}: ${findComplaint(output) ?? `it ended with ${ending}`}`);
  return output;
}

/** The line of a tool's output that explains a failure. */
export function findComplaint(output: string): string | undefined {
  const lines = stripColours(output)
    .split("\n")
    .map((line) => line.trim());
  const marked = lines.find((line) => /\[ERROR\]|^Error:|^\w*Error:/.test(line));
  return marked?.replace(/^.*\[ERROR\]\s*/, "") ?? lines.findLast((line) => line !== "");
}

export function startGuard(): Guard {
  const child = spawn("sh", ["-c", GUARD_SCRIPT], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  child.unref();
  const { stdin } = child;
  // The stack also runs without the guard; then only a SIGKILL would leave processes running.
  child.on("error", () => undefined);
  stdin.on("error", () => undefined);
  return { add: (pid) => stdin.write(`add ${pid}\n`), close: () => stdin.end("close\n") };
}

/** True if a process with this number runs, whichever user owns it. */
export function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

export async function awaitCondition(holds: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!holds()) {
    if (Date.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/** Removes the colours that tools print. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
export const stripColours = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, "");

function awaitEnd(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal === null ? `code ${code}` : signal));
  });
}

// Clears the timer, because a pending one keeps the command from ending.
async function awaitEndWithin(ended: Promise<unknown>, patienceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, patienceMs);
  });
  await Promise.race([ended, patience]);
  clearTimeout(timer);
}

const signalGroup = (pid: number, signal: NodeJS.Signals | 0): boolean => pid > 0 && send(-pid, signal);

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
