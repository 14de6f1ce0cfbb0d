import { SessionEnded } from './session-ended';
import type { Step } from './verify-finding';
import type { Json, JsonObject } from './verify-json';
import { describeMissingProof } from './verify-missing';
import { checkCheckpoint, checkEntry, checkPath, type Proof } from './verify-proof';
import { renderStep, renderSummary, runStep } from './verify-steps';
import { checkVote, type Member, type VoteEntry } from './verify-vote';

/**
 * Verifies an entry of the audit log step by step, and shows what each step found. It checks what the guide `verifying`
 * says with code of its own: none of it is the service's.
 */
export async function verifyEntry(section: HTMLElement): Promise<void> {
  const { verify: address = '', request: requestAddress } = section.dataset;
  const list = section.querySelector('.steps');
  const steps: Step[] = [];
  const show = (...found: Step[]) => {
    steps.push(...found);
    list?.append(...found.map(renderStep));
  };
  list?.replaceChildren();
  section.querySelector('.verdict')?.remove();

  const entry = await load<VoteEntry>(`${address}/entry`);
  const [proof, keys] = await Promise.all([
    loadAnswer(`${address}/proof`),
    load<{ keys: JsonObject[] }>('/.well-known/jwks.json'),
  ]);
  if (proof.status === 200) {
    const sealed = proof.body as unknown as Proof;
    const id = address.slice(address.lastIndexOf('/') + 1);
    show(await runStep('The entry is the one that was sealed', () => checkEntry(entry, sealed, id)));
    show(await runStep('What was sealed is in the log', () => checkPath(sealed)));
    const sign = () => checkCheckpoint(sealed.checkpoint, entry.user_id, keys.keys);
    show(await runStep('The service signed this state of the log', sign));
  } else {
    show(describeMissingProof(proof.body, entry, Date.now()));
  }
  const votes = entry.details.votes ?? [];
  if (votes.length > 0) {
    const request = requestAddress === undefined ? null : await load<VoteEntry>(`${requestAddress}/entry`);
    const voters = [...new Set(votes.map(({ by }) => by))];
    const members = await Promise.all(voters.map((id) => load<Member>(`/console/audit/members/${id}`)));
    for (const [index, { by, decision, signature }] of votes.entries()) {
      const member = members.find(({ id }) => id === by);
      const title = `${member?.name ?? member?.email ?? by} decided to ${decision}`;
      const check = () => checkVote({ entry, request, member }, index);
      show(await runStep(signature ? `${title}, and signed it` : title, check));
    }
  }
  list?.before(renderSummary(steps));
}

interface Answer {
  status: number;
  body: { [name: string]: Json };
}

async function loadAnswer(path: string): Promise<Answer> {
  const response = await fetch(path, { headers: { Accept: 'application/json' } });
  if (response.status === 401) throw new SessionEnded();
  return { status: response.status, body: await response.json() };
}

async function load<T>(path: string): Promise<T> {
  const { status, body } = await loadAnswer(path);
  if (status === 200) return body as T;
  if (status === 404) throw new Error('The entry, or somebody who decided, is no longer there. Load the page again.');
  throw new Error(String(body.detail ?? 'The service did not answer. Try again.'));
}
