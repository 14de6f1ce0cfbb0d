import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DEFAULT_PORT, localOrigin } from './address.ts';
import { ROOT } from './project.ts';
import { addSettings, readSettings } from './settings-file.ts';

const FILE = join(ROOT, '.dev.vars');

/**
 * Returns the settings in .dev.vars, which wrangler reads, after adding those that are missing in
 * the file.
 */
export function ensureLocalSettings() {
  const present = readLocalSettings();
  const settings: ReturnType<typeof makeSettings> = { ...makeSettings(), ...present };
  const missing = Object.entries(settings).filter(([name]) => present[name] === undefined);
  if (missing.length > 0) addSettings(FILE, Object.fromEntries(missing));
  return settings;
}

/** The settings that are in .dev.vars; none if there is no such file. */
export function readLocalSettings(): Record<string, string | undefined> {
  return readSettings(FILE);
}

/** The settings that local development requires, with new secrets. */
function makeSettings() {
  return {
    ...makeSecrets(),
    PUBLIC_URL: localOrigin(DEFAULT_PORT),
    EXPOSE_COST: 'on',
    WEBHOOK_ALLOW_INSECURE: 'on',
    // Local development works without a network.
    WEBHOOK_DNS: 'off',
  };
}

/** New secrets for a deployment. */
export function makeSecrets() {
  return {
    ADMIN_TOKEN: randomBytes(32).toString('base64url'),
    ROOT_SECRET: randomBytes(32).toString('base64'),
  };
}
