import type { Child } from 'hono/jsx';
import { type AuditEntry, detailsOf } from '../../audit/entry';
import type { JsonObject } from '../../lib/json';
import { Code, Named, Written } from '../parts/inline';
import { limitTexts } from '../parts/limits';
import { Decider } from './words';

/** What an entry says, as names and values. Members that do not apply are left out. */
export function DetailsTable({ entry }: { entry: AuditEntry }) {
  const { agent_id, event_type, ip_address, user_agent } = entry;
  const details = detailsOf(entry);
  const { scope, decided_by, decision_reason, review_policy_id, input_digest, preview_digest } = details;
  const rows: (readonly [name: Child, value: Child] | null | undefined | false | '')[] = [
    ['Agent', <Named id={agent_id} />],
    ['Action', <Code text={details.action} />],
    ['Resource', <Written text={details.resource} />],
    ...limitTexts((scope ?? {}) as JsonObject).map(([name, value]): [Child, Child] => [
      <>
        Limit <Written text={name} />
      </>,
      <Written text={value} />,
    ]),
    decided_by && [event_type === 'revoke' ? 'Revoked by' : 'Decided by', <Decider id={decided_by} />],
    details.decided_via && ['By way of', details.decided_via === 'api' ? 'the API' : `the ${details.decided_via}`],
    decision_reason && ['Reason', <Written text={decision_reason} />],
    details.policy_id && ['Policy that decided', <Named id={details.policy_id} />],
    review_policy_id && ['Policy that asked people', <Named id={review_policy_id} />],
    input_digest && ['Digest of the arguments', <Code text={input_digest} />],
    preview_digest && ['Digest of the preview', <Code text={preview_digest} />],
    ['Came from', ip_address === '' ? 'the service itself' : <Code text={ip_address} />],
    ['Program', <Written text={user_agent} />],
  ];
  return (
    <section class="table bare" aria-label="Names and values" tabindex={0}>
      <table>
        <caption class="hidden">What the entry says</caption>
        <tbody>
          {rows.map(
            (row) =>
              row && (
                <tr>
                  <th scope="row">{row[0]}</th>
                  <td>{row[1]}</td>
                </tr>
              ),
          )}
        </tbody>
      </table>
    </section>
  );
}
