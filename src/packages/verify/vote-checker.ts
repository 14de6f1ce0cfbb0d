import { findAssertionFault, readAssertion } from './core/assertion.ts';
import { type Fault, formatCount, type Report } from './core/findings.ts';
import { isJsonObject, type JsonObject } from './core/json.ts';
import { SeriesChecker, WrongSeries } from './core/series.ts';
import {
  checkReview,
  checkVotes,
  isSettling,
  MissingVotes,
  type RequestedPermission,
  readSettlement,
  resolveScopes,
  type Settlement,
  WrongVote,
} from './core/settlement.ts';
import { challengeOf, rebuildStatement } from './core/statement.ts';
import { parseTime } from './core/time.ts';
import type { Vote, VoteSignature } from './core/vote.ts';
import type { PinnedPasskey, PinnedPasskeys } from './passkeys.ts';
import {
  ASSERTION_FAULTS,
  describeMissingVotes,
  describeWrongSeries,
  describeWrongVote,
  formatMembers,
  formatVotes,
  type PlacedEntry,
} from './vote-faults.ts';

type SignedVote = Vote & { signature: VoteSignature };

/** Checks the votes of the entries of a log, one entry after the other, until one is wrong. */
export class VoteChecker {
  /** The first wrong vote. */
  fault: Fault | null = null;
  private readonly passkeys: PinnedPasskeys | null;
  private readonly series = new SeriesChecker();
  /** The requests whose end has not come yet. */
  private readonly requests = new Map<unknown, RequestedPermission>();
  private signed = 0;
  private unsigned = 0;
  /**
   * How many approvals have the votes that their request asks for, and how many have votes, but no
   * request in the file.
   */
  private readonly reviewed = { complete: 0, unknown: 0 };
  /**
   * How many votes of each member were proven, and how many belong to members without pinned
   * passkeys.
   */
  private readonly proven = new Map<string, number>();
  private readonly unpinned = new Map<string, number>();
  /** How many votes need a request that the file does not have, and the first of them. */
  private readonly withoutRequest = { count: 0, first: '' };

  /**
   * @param passkeys what the auditor pinned; null if nothing is, and signatures are only counted
   */
  constructor(passkeys: PinnedPasskeys | null) {
    this.passkeys = passkeys;
  }

  /** Whether any signature was verified. */
  get hasProven(): boolean {
    return this.proven.size > 0;
  }

  /** Takes the next entry, in the order of the log. */
  async take({ sequence, id, entry }: PlacedEntry): Promise<void> {
    const {
      event_type: event,
      permission_request_id: permission,
      agent_id: agent = null,
      details,
    } = entry;
    if (this.fault || !isJsonObject(details)) return;
    if (event === 'request') this.requests.set(permission, { agent, details });
    if (!isSettling(event)) return;
    const request = this.requests.get(permission) ?? null;
    this.requests.delete(permission);
    try {
      await this.checkEntry(entry, details, request);
    } catch (error) {
      const place = { sequence, id, entry };
      if (error instanceof WrongVote) this.fault = describeWrongVote(error, place);
      else if (error instanceof MissingVotes) this.fault = describeMissingVotes(error, place);
      else if (error instanceof WrongSeries) this.fault = describeWrongSeries(error, place);
      else throw error;
    }
  }

  private async checkEntry(
    entry: JsonObject,
    details: JsonObject,
    request: RequestedPermission | null,
  ): Promise<void> {
    if (entry.event_type === 'approve') this.series.take(entry, details);
    const settlement = readSettlement(entry);
    const isByPerson = typeof details.policy_id !== 'string' && details.decided_via !== 'series';
    const isByPeople = entry.event_type === 'approve' && isByPerson;
    if (!settlement) {
      if (entry.event_type === 'approve' && typeof details.policy_id !== 'string')
        this.checkReview([], request);
      if (entry.event_type !== 'expire' && isByPerson) this.unsigned++;
      return;
    }
    const scopes = resolveScopes(settlement, request);
    // A changed vote may also contradict another one, but only its own signature shows which of
    // them is wrong.
    for (const [index, vote] of settlement.votes.entries()) {
      if (vote.signature)
        await this.checkSigned(settlement, vote as SignedVote, {
          index,
          scope: scopes[index] ?? null,
          request,
        });
      else this.unsigned++;
    }
    checkVotes(settlement, scopes, request);
    if (isByPeople) this.checkReview(settlement.votes, request);
  }

  private checkReview(votes: readonly Vote[], request: RequestedPermission | null): void {
    if (request) {
      if (checkReview(votes, request)) this.reviewed.complete++;
    } else if (votes.length > 0) {
      this.reviewed.unknown++;
    }
  }

  private async checkSigned(
    settlement: Settlement,
    vote: SignedVote,
    {
      index,
      scope,
      request,
    }: { index: number; scope: JsonObject | null; request: RequestedPermission | null },
  ): Promise<void> {
    this.signed++;
    if (!this.passkeys) return;
    const { credential_id: credential, signed_at: signedAt } = vote.signature;
    const passkey = this.passkeys.passkeys.get(credential);
    if (!passkey && !this.passkeys.members.has(vote.by)) {
      increment(this.unpinned, vote.by);
      return;
    }
    if (passkey?.member !== vote.by) {
      throw new WrongVote(
        index,
        'it is signed with a passkey that is not among those pinned for the member',
        {
          credential_id: credential,
          pinned_for: passkey?.member ?? null,
        },
      );
    }
    checkValidity(index, passkey, vote.signature);
    const assertion = await attempt(index, async () => readAssertion(vote.signature));
    const origin = this.passkeys.origins.find((origin) => origin === assertion.clientData.origin);
    if (origin === undefined) {
      throw new WrongVote(index, 'its signature was made at an origin that is not pinned', {
        found: String(assertion.clientData.origin),
        pinned: this.passkeys.origins.join(', '),
      });
    }
    const statement = scope && rebuildStatement(settlement, vote, { scope, request, origin });
    const challenge = statement && (await attempt(index, () => challengeOf(statement)));
    const wrong = await findAssertionFault(assertion, { challenge, origin, key: passkey.key });
    if (wrong) {
      throw new WrongVote(index, `its signature ${ASSERTION_FAULTS[wrong]}`, {
        credential_id: credential,
        signed_at: signedAt,
        signed_challenge: String(assertion.clientData.challenge),
        challenge_of_the_entry: challenge,
      });
    }
    if (!challenge) {
      this.withoutRequest.first ||= `vote ${index + 1} on ${settlement.entry.permission_request_id}`;
      this.withoutRequest.count++;
      return;
    }
    increment(this.proven, vote.by);
  }

  /**
   * Adds the results to a report on the entries. The wrong vote comes after a wrong entry, which is
   * worse.
   */
  addTo(report: Report): void {
    if (this.fault) {
      const isEntryWrong = report.faults[0]?.sequence !== undefined;
      report.faults.splice(isEntryWrong ? 1 : 0, 0, this.fault);
    }
    this.addSeries(report);
    if (this.unsigned > 0) {
      report.limits.push(
        `Who made ${formatCount(this.unsigned, 'decision')} without a signature: only the service says so.`,
      );
    }
    if (!this.passkeys) {
      if (this.signed > 0) {
        report.limits.push(
          `Who signed ${formatVotes(this.signed)}: keys from the service or from the export alone prove no identity, so no signature was checked. Give the passkeys that you pinned with --passkeys.`,
        );
      }
      return;
    }
    if (this.hasProven) {
      const total = [...this.proven.values()].reduce((sum, votes) => sum + votes);
      report.proven.push(
        `Passkeys that you pinned signed ${formatVotes(total)}, each for exactly what its entry says: ${formatMembers(this.proven)}.`,
      );
      this.addReviews(report);
    }
    if (this.unpinned.size > 0) {
      report.unchecked.push(
        `Who signed the votes of members for whom you pinned no passkeys: ${formatMembers(this.unpinned)}.`,
      );
    }
    const { count, first } = this.withoutRequest;
    if (count > 0) {
      report.unchecked.push(
        `What was signed with ${formatVotes(count)}: the entry does not have all of it, and the entry of the request is not in the file. The first is ${first}.`,
      );
    }
  }

  private addSeries(report: Report): void {
    const { within, unknown } = this.series.counts;
    if (within > 0) {
      report.proven.push(
        `${formatCount(within, 'approval')} by a series ${within === 1 ? 'is' : 'are'} within what the entry that gave it allows. Nobody saw the arguments of these acts first.`,
      );
    }
    if (unknown > 0) {
      report.limits.push(
        `Whether people gave the series of ${formatCount(unknown, 'approval')}: the entry that gave it is not in the file.`,
      );
    }
  }

  private addReviews(report: Report): void {
    const { complete, unknown } = this.reviewed;
    if (complete > 0) {
      report.proven.push(
        `${formatCount(complete, 'approval')} by people ${complete === 1 ? 'has' : 'have'} the votes that the request asks for.`,
      );
      report.limits.push(
        'Whether the voters were reviewers: the log has the rule, but not the roles of members.',
      );
    }
    if (unknown > 0) {
      report.limits.push(
        `Whether enough people approved ${formatCount(unknown, 'request')}: the entry that says how many have to is not in the file.`,
      );
    }
  }
}

/** @throws WrongVote if the member added the passkey after the signature, or removed it before */
function checkValidity(
  index: number,
  { addedAt, removedAt }: PinnedPasskey,
  signature: VoteSignature,
): void {
  const { credential_id, signed_at } = signature;
  const time = parseTime(signed_at);
  const evidence = { credential_id, signed_at };
  if (addedAt !== null && time < addedAt) {
    throw new WrongVote(index, 'it is signed with a passkey that was added later', {
      ...evidence,
      added_at: new Date(addedAt).toISOString(),
    });
  }
  if (removedAt !== null && time > removedAt) {
    throw new WrongVote(index, 'it is signed with a passkey that was removed before', {
      ...evidence,
      removed_at: new Date(removedAt).toISOString(),
    });
  }
}

async function attempt<T>(index: number, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw error instanceof SyntaxError ? new WrongVote(index, error.message) : error;
  }
}

function increment(counts: Map<string, number>, member: string): void {
  counts.set(member, (counts.get(member) ?? 0) + 1);
}
