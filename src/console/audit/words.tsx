import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import type { Names } from '../frame/names';
import { Code, Named, Written } from '../parts/text';

/** The types of events, as the filters and the list name them. */
export const EVENT_NAMES: Record<AuditEntry['event_type'], string> = {
  request: 'request',
  approve: 'approval',
  deny: 'denial',
  use: 'use',
  expire: 'expiry',
  revoke: 'revocation',
};

/** An entry as a sentence: who did what. */
export function EntryInWords({ entry, names }: { entry: AuditEntry; names: Names }) {
  const { agent_id, event_type } = entry;
  const details = detailsOf(entry);
  const agent = <Named id={agent_id} names={names} />;
  const by = !details.decided_by ? (
    'The service'
  ) : details.decided_by.startsWith('user_') ? (
    'A token of the account'
  ) : (
    <Decider id={details.decided_by} names={names} />
  );
  const what = (
    <>
      <Code text={details.action} /> on <Written text={details.resource} />
    </>
  );
  const sentences: Record<AuditEntry['event_type'], Child> = {
    request: (
      <>
        {agent} asked for {what}
      </>
    ),
    approve: (
      <>
        {by} approved {what} for {agent}
      </>
    ),
    deny: (
      <>
        {by} denied {agent} {what}
      </>
    ),
    use: (
      <>
        {agent} used its token for {what}
      </>
    ),
    revoke: (
      <>
        {by} revoked the token of {agent} for {what}
      </>
    ),
    expire:
      details.expired === 'withdrawn' ? (
        <>
          {agent} withdrew its request for {what}
        </>
      ) : details.expired === 'token' ? (
        <>
          The token of {agent} for {what} expired unused
        </>
      ) : (
        <>
          The request of {agent} for {what} expired: nobody decided in time
        </>
      ),
  };
  return <>{sentences[event_type]}</>;
}

/** Who decided: a person, a policy, the agent itself, or a token of the account. */
export function Decider({ id, names }: { id: string; names: Names }) {
  const name = <Named id={id} names={names} />;
  return id.startsWith('policy_') ? <>Policy “{name}”</> : name;
}
