// Runs a program for an npm script: node src/tools/run.mjs <program> [arguments]. Installs what is
// missing first. It starts on any Node version and before anything is installed, so it is plain
// JavaScript.
import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureInstalled } from './ensure-installed.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [program = '', ...options] = process.argv.slice(2);

/** Runs the program on the Node that was installed with the packages, which runs TypeScript. */
function spawnProgram() {
  const path = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const child = spawn('node', [program, ...options], {
    stdio: 'inherit',
    env: { ...process.env, PATH: path },
    shell: process.platform === 'win32',
  });
  // A terminal sends SIGINT to the child as well.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', (signal) => child.kill(signal));
  process.on('SIGHUP', (signal) => child.kill(signal));
  child.on('exit', (code) => {
    process.exitCode = code ?? 1;
  });
}

const installation = ensureInstalled();
if (installation.status !== 0) {
  // From verify, 1 says that the data was changed.
  process.exitCode = program === 'src/packages/verify/main.ts' ? 2 : installation.status;
} else if (installation.isNew || !process.features.typescript) {
  spawnProgram();
} else {
  const file = join(root, program);
  process.argv = [process.execPath, file, ...options];
  await import(pathToFileURL(file).href);
}
