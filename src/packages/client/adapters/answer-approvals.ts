import { checkOptions } from '../check-options.ts';
import { Countersign } from '../countersign.ts';
import { type AiCallOptions, type AiMessage, approvalRequestsOf } from './ai-sdk-messages.ts';
import { TOOL_RULES, type ToolRules } from './options.ts';
import { externalIdOf, isForPeople } from './tool-guard.ts';

/** The message that resumes a run. */
export interface ApprovalMessage {
  role: 'tool';
  content: {
    type: 'tool-approval-response';
    approvalId: string;
    approved: boolean;
    reason: string;
  }[];
}

/**
 * Returns the message that resumes a run which ended with requests for approval; undefined while
 * people have not yet decided all of them, and when there are none.
 *
 * The message only says how to go on. A tool runs only if Countersign approved its call.
 * @param rules those of `wrapTools`; only their client and their `run` count
 */
export async function answerApprovals(
  messages: readonly AiMessage[],
  rules: ToolRules<AiCallOptions> = {},
): Promise<ApprovalMessage | undefined> {
  checkOptions(rules, TOOL_RULES, 'answerApprovals()');
  const { countersign = new Countersign() } = rules;
  const content: ApprovalMessage['content'] = [];
  for (const { approvalId, toolCallId, isAnswered } of approvalRequestsOf(messages)) {
    if (isAnswered) continue;
    const external_id = await externalIdOf(toolCallId, { toolCallId, messages }, rules);
    const [permission] = (await countersign.listPermissions({ external_id, limit: 1 })).data;
    // Then no person was asked for the call, so another part of the application asks for this
    // approval.
    if (!permission || !isForPeople(permission)) continue;
    if (permission.status === 'pending') return undefined;
    const { status, decision_reason } = permission;
    content.push({
      type: 'tool-approval-response',
      approvalId,
      approved: status === 'approved',
      reason: decision_reason ?? `The request is ${status}.`,
    });
  }
  if (content.length === 0) return undefined;
  return { role: 'tool', content };
}
