import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import { deciderKind } from '../../lib/decider';
import { amountText } from '../../permissions/amount';
import { usePage } from '../frame/page-context';
import { Code, joinElements, Named, Written } from '../parts/inline';

/** The types of events, as the filters and the list name them. */
export const EVENT_NAMES: Record<AuditEntry['event_type'], string> = {
  request: 'request',
  approve: 'approval',
  deny: 'denial',
  use: 'use',
  expire: 'expiry',
  revoke: 'revocation',
};

/**
 * An entry as a sentence: who did what, with the amount of its limits and everybody who decided.
 */
export function EntryInWords({ entry }: { entry: AuditEntry }) {
  const { formatNumber } = usePage();
  const { agent_id, event_type } = entry;
  const { action, resource, expired, scope } = detailsOf(entry);
  const agent = <Named id={agent_id} />;
  const by = authorsOf(entry);
  const amount = amountText(scope ?? {}, formatNumber);
  const what = [
    amount !== null && [
      <strong>
        <Written text={amount} />
      </strong>,
      ' · ',
    ],
    <Code text={action} />,
    ' on ',
    <Written text={resource} />,
  ];
  const expiry = {
    withdrawn: ['The request of ', agent, ' for ', what, ' was withdrawn'],
    token: ['The token of ', agent, ' for ', what, ' expired unused'],
    request: ['The request of ', agent, ' for ', what, ' expired: nobody decided in time'],
  };
  const sentences: Record<AuditEntry['event_type'], Child[]> = {
    request: [agent, ' asked for ', what],
    approve: [by, ' approved ', what, ' for ', agent],
    deny: [by, ' denied ', agent, ' ', what],
    use: [agent, ' used its token for ', what],
    revoke: [by, ' revoked the token of ', agent, ' for ', what],
    expire: expiry[expired ?? 'request'],
  };
  return <>{sentences[event_type]}</>;
}

/** Who did it, at the start of a sentence: of a decision, everybody who voted for it. */
function authorsOf(entry: AuditEntry): Child {
  const { votes = [], decided_by } = detailsOf(entry);
  const voters = votes.filter(({ decision }) => decision === entry.event_type).map(({ by }) => by);
  const authors = voters.length > 0 ? voters : [decided_by];
  return joinElements(authors.map(authorOf), ' and ');
}

function authorOf(id: string | null | undefined): Child {
  if (!id) return 'The service';
  if (deciderKind(id) === 'account') return 'A token of the account';
  return <Decider id={id} />;
}

/**
 * Who decided: a person, a policy, a series that people gave, the agent itself, or a token of the
 * account.
 * @param props.isShort whether a long name is shortened
 */
export function Decider({ id, isShort = false }: { id: string; isShort?: boolean }) {
  const kind = deciderKind(id);
  if (kind === 'series') return <span title={id}>A series</span>;
  const name = <Named id={id} isShort={isShort} />;
  return kind === 'policy' ? <>Policy “{name}”</> : name;
}
