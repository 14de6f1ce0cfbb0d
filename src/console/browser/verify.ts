import type { Json, JsonObject } from '../../packages/verify/core/json.ts';
import { SessionEnded } from './session-ended';
import { checkContents, hasDigests } from './verify-contents';
import type { Finding, Step } from './verify-finding';
import { describeMissingProof } from './verify-missing';
import { checkCheckpoint, checkEntry, checkPath, type Proof } from './verify-proof';
import { checkReview } from './verify-review';
import { renderStep, renderSummary, runStep } from './verify-steps';
import { checkVote, type Member, type VoteEntry } from './verify-vote';

/**
 * Verifies an entry of the audit log step by step in the browser, and shows what each step found.
 * Makes the checks of the guide `verifying`, with the same core as the command line.
 */
export async function verifyEntry(section: HTMLElement): Promise<void> {
  const {
    verify: address = '',
    request: requestAddress,
    contents: contentsAddress,
  } = section.dataset;
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
    const ofLog = (title: string) => ({ title, isOfLog: true });
    show(
      await runStep(ofLog('The entry is the one that was sealed'), () =>
        checkEntry(entry, sealed, id),
      ),
    );
    show(await runStep(ofLog('What was sealed is in the log'), () => checkPath(sealed)));
    const checkSignature = () => checkCheckpoint(sealed.checkpoint, entry.user_id, keys.keys);
    show(await runStep(ofLog('The service signed this state of the log'), checkSignature));
  } else {
    show(describeMissingProof(proof.body, entry, Date.now()));
  }
  const votes = entry.details.votes ?? [];
  const isByPeople = entry.event_type === 'approve' && !entry.details.policy_id;
  const request =
    requestAddress === undefined ? null : await load<VoteEntry>(`${requestAddress}/entry`);
  if (votes.length > 0) {
    const voters = [...new Set(votes.map(({ by }) => by))];
    const members = await Promise.all(
      voters.map((id) => load<Member>(`/console/audit/members/${id}`)),
    );
    for (const [index, { by, decision, signature }] of votes.entries()) {
      const member = members.find(({ id }) => id === by);
      const decided = `${member?.name ?? member?.email ?? by} decided to ${decision}`;
      const title = signature ? `${decided}, and signed it` : decided;
      show(
        await runStep({ title, isOfLog: false }, () =>
          checkVote({ entry, request, member }, index),
        ),
      );
    }
  }
  if (isByPeople) {
    const title = 'Enough people approved the request';
    show(
      await runStep({ title, isOfLog: false }, () =>
        checkApproval(entry, request, requestAddress, keys.keys),
      ),
    );
  }
  if (contentsAddress !== undefined) {
    const title = 'The page of the request shows what was asked for';
    const contents = await loadAnswer(contentsAddress);
    const check = async () => {
      if (contents.status !== 200)
        return open(`The arguments and the preview could not be loaded. ${contents.body.detail}`);
      if (hasDigests(entry)) return checkContents(entry, contents.body);
      if (!request || requestAddress === undefined)
        return open('The entry of the request is gone.');
      const fault = await findRequestFault(request, requestAddress, keys.keys);
      return fault ?? checkContents(request, contents.body);
    };
    show(await runStep({ title, isOfLog: false }, check));
  }
  list?.before(renderSummary(steps));
}

function open(text: string): Finding {
  return { state: 'open', text };
}

/** Proves the entry of the request, and checks that the approval has the votes that it asks for. */
async function checkApproval(
  entry: VoteEntry,
  request: VoteEntry | null,
  address: string | undefined,
  keys: JsonObject[],
): Promise<Finding> {
  if (!request || address === undefined)
    return open('The entry of the request, which says how many have to approve, is gone.');
  return (await findRequestFault(request, address, keys)) ?? checkReview(entry, request);
}

/** Why the entry of the request is not proven to be in the log; null if it is. */
async function findRequestFault(
  request: VoteEntry,
  address: string,
  keys: JsonObject[],
): Promise<Finding | null> {
  const { status, body } = await loadAnswer(`${address}/proof`);
  if (status !== 200) return open(`There is no proof of the request’s entry. ${body.detail}`);
  const proof = body as unknown as Proof;
  const checks = [
    () => checkEntry(request, proof, address.slice(address.lastIndexOf('/') + 1)),
    () => checkPath(proof),
    () => checkCheckpoint(proof.checkpoint, request.user_id, keys),
  ];
  for (const check of checks) {
    const finding = await check();
    if (finding.state !== 'passed')
      return { ...finding, text: `The entry of the request: ${finding.text}` };
  }
  return null;
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
  if (status === 404)
    throw new Error('The entry, or somebody who decided, is no longer there. Load the page again.');
  throw new Error(String(body.detail ?? 'The service did not answer. Try again.'));
}
