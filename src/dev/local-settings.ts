import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { DEFAULT_PORT, localOrigin } from './address.ts';
import { ROOT } from './project.ts';

const FILE = join(ROOT, '.dev.vars');

/** Returns the settings in .dev.vars, which wrangler reads, after adding those that are missing in the file. */
export function ensureLocalSettings() {
  const text = readFile();
  const present = parseEnv(text);
  const settings: ReturnType<typeof makeSettings> = { ...makeSettings(), ...present };
  const missing = Object.entries(settings).filter(([name]) => present[name] === undefined);
  if (missing.length > 0) {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n';
    const lines = missing.map(([name, value]) => `${name}="${value}"\n`).join('');
    writeFileSync(FILE, text + gap + lines, { mode: 0o600 });
    // The mode above applies to new files only.
    chmodSync(FILE, 0o600);
  }
  return settings;
}

/** The settings that are in .dev.vars; none if there is no such file. */
export function readLocalSettings(): Record<string, string | undefined> {
  return parseEnv(readFile());
}

function readFile(): string {
  return existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
}

/** The settings that local development requires, with new secrets. */
function makeSettings() {
  return {
    ADMIN_TOKEN: randomBytes(32).toString('base64url'),
    ROOT_SECRET: randomBytes(32).toString('base64'),
    PUBLIC_URL: localOrigin(DEFAULT_PORT),
    EXPOSE_COST: 'on',
    WEBHOOK_ALLOW_INSECURE: 'on',
    // Local development works without a network.
    WEBHOOK_DNS: 'off',
  };
}
