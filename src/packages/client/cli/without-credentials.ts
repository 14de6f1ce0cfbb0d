/**
 * The environment of a guarded command or server: without the agent's key and the other variables
 * of this program.
 */
export function withoutCredentials(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/^COUNTERSIGN_/i.test(name)));
}
