import { isJsonObject, type Json } from '../../lib/json';
import type { Permission, ReviewedPermission } from '../../permissions/permission';
import type { Preview } from '../../permissions/preview';
import { pointerTo } from '../../permissions/restated-argument';
import { usePage } from '../frame/page-context';
import { Section } from '../parts/blocks';
import { Code, JsonText, WrittenText } from '../parts/inline';
import { argumentText } from './argument-text';
import { hasNarrowedScope } from './limits-fields';
import { LimitsTables } from './limits-table';

/** Of more arguments than this, only the JSON is shown. */
const MAX_LISTED = 100;

interface BindingProps {
  row: ReviewedPermission;
  permission: Permission;
  /** Undefined if the service does not have the arguments. */
  input: Json | undefined;
  preview: Preview | null;
}

/**
 * Shows to what an approval binds the agent: within which limits, and with which arguments it may
 * act.
 */
export function Binding({ row, permission, input, preview }: BindingProps) {
  const isBinding = permission.status === 'pending' || permission.status === 'approved';
  return (
    <Section name="binding" title={titleOf(permission)} class="card part">
      {row.connectionId !== null && (
        <p>
          Countersign sends this request itself through a connection, exactly as it stands here and
          at most once. The agent does not hold the key.
        </p>
      )}
      <p class="hint">{limitsHint(permission, row.maxUses)}</p>
      <LimitsTables row={row} />
      <h3>Arguments</h3>
      <Arguments row={row} input={input} preview={preview} isBinding={isBinding} />
    </Section>
  );
}

function titleOf({ status }: Permission): string {
  if (status === 'pending') return 'What is binding';
  return status === 'approved' ? 'What was approved' : 'What was asked for';
}

/** Says how the limits of a request bind in its state. */
function limitsHint({ status, scope }: Permission, maxUses: number): string {
  const each = maxUses > 1 ? ' The limits are for each time it acts, not for all together.' : '';
  if (status === 'approved') return `The agent may do no more than this.${each}`;
  if (status !== 'pending') return 'This is what the agent asked for. Nothing was granted.';
  if (Object.keys(scope).length > 0)
    return `If you approve, the agent may do no more than this.${each}`;
  return 'The agent names no other limits: you would allow this action on this resource in any form.';
}

/** The arguments of the act; says why they are not shown if the service does not have them. */
function Arguments({
  row,
  input,
  preview,
  isBinding,
}: Omit<BindingProps, 'permission'> & { isBinding: boolean }) {
  if (input !== undefined) {
    return (
      <>
        {isBinding && (
          <p class="hint">
            The agent may do it only with exactly these arguments.
            {hasNarrowedScope(row) &&
              ' The agent wrote them before the limits were lowered. If they exceed the lower limits, the agent has to ask again.'}
          </p>
        )}
        <ArgumentList input={input} preview={preview} />
      </>
    );
  }
  if (row.inputDigest !== null) {
    return (
      <p>
        Not shown: the agent sent only a digest of its arguments.
        {isBinding &&
          ' It may act only with exactly those arguments, but nobody has seen them. If the limits do not say enough, deny the request and ask for the arguments.'}
      </p>
    );
  }
  return (
    <p>
      {isBinding
        ? 'The agent sent no arguments, so only the limits are binding.'
        : 'The agent sent no arguments.'}
      {preview && isBinding && ' Nobody checked what it says it will do.'}
    </p>
  );
}

/**
 * Every argument with its JSON Pointer, those first that no field of the preview restates; and all
 * as JSON.
 */
function ArgumentList({ input, preview }: { input: Json; preview: Preview | null }) {
  const { formatNumber } = usePage();
  const all = leavesOf(input);
  const isListed = isJsonObject(input) && all.length > 0 && all.length <= MAX_LISTED;
  if (!isListed) return <JsonText value={input} label="The arguments as JSON" />;
  const restated = (preview?.fields ?? []).flatMap(({ of }) => of ?? []);
  const isRestated = ({ pointer }: Leaf) =>
    restated.some((of) => pointer === of || pointer.startsWith(`${of}/`));
  const [first, later] = [all.filter((leaf) => !isRestated(leaf)), all.filter(isRestated)];
  return (
    <>
      <dl class="arguments">
        {[...first, ...later].map(({ pointer, value }) => (
          <>
            <dt>
              <Code text={pointer} />
            </dt>
            <dd>
              <WrittenText
                text={argumentText(value, formatNumber)}
                label={`The argument ${pointer}`}
              />
            </dd>
          </>
        ))}
      </dl>
      <details>
        <summary>As JSON</summary>
        <JsonText value={input} label="The arguments as JSON" />
      </details>
    </>
  );
}

interface Leaf {
  pointer: string;
  value: Json;
}

/** The values that have no values inside, in order. */
function leavesOf(value: Json, path: string[] = []): Leaf[] {
  const isContainer = typeof value === 'object' && value !== null;
  const entries = isContainer ? Object.entries(value) : [];
  if (entries.length === 0) return [{ pointer: pointerTo(path), value }];
  return entries.flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}
