import type { Findings } from '../findings.ts';
import type { Memory } from '../memory.ts';

/**
 * Checks that immediately revoked keys are refused, and that the newest key of each agent is
 * accepted.
 */
export async function checkAccess(findings: Findings, { agents, traits }: Memory): Promise<void> {
  for (const { id, alive, client, revoked, isLockedOut } of agents) {
    for (const old of revoked) {
      const status = (await old.repeat('GET', '/v1/permissions'))?.status;
      findings.check(
        status === 401,
        'access',
        () => `${traits.name}: a revoked key of ${id} gets ${status}`,
      );
    }
    if (alive === 'maybe' || isLockedOut) continue;
    const status = (await client.repeat('GET', '/v1/permissions'))?.status;
    const isRight = status === (alive === 'yes' ? 200 : 401);
    findings.check(
      isRight,
      'access',
      () => `${traits.name}: the key of ${id} (alive: ${alive}) gets ${status}`,
    );
  }
}

/** Checks that every credential of a deleted account is refused. */
export async function checkGone(
  findings: Findings,
  { user, agents, traits }: Memory,
): Promise<void> {
  const clients = [user, ...agents.map(({ client }) => client)];
  for (const [i, client] of clients.entries()) {
    const status = (await client.repeat('GET', i === 0 ? '/v1/me' : '/v1/permissions'))?.status;
    findings.check(
      status === 401,
      'access',
      () => `${traits.name} is deleted, but credential ${i} gets ${status}`,
    );
  }
}
