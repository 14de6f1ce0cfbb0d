/** A message of the AI SDK. */
export interface AiMessage {
  role: string;
  content: unknown;
}

/** The result of `generateText`, in version 7 or 6. */
type GeneratedText<Message> =
  | { responseMessages: readonly Message[] }
  | { response: { messages: readonly Message[] } };

/** Returns all messages that a run added to the conversation, in version 6 and 7. */
export function responseMessagesOf<Message>(result: GeneratedText<Message>): readonly Message[] {
  // In version 7 `response` is that of the last step.
  return 'responseMessages' in result ? result.responseMessages : result.response.messages;
}

/** The options that the AI SDK gives to a tool with a call. */
export interface AiCallOptions {
  toolCallId: string;
  messages: readonly AiMessage[];
  abortSignal?: AbortSignal | undefined;
  /** The context of the run, in version 7. */
  context?: unknown;
  /** The context of the run, in version 6. */
  experimental_context?: unknown;
}

/** A request for approval that a conversation holds. */
interface ApprovalRequest {
  approvalId: string;
  toolCallId: string;
  isAnswered: boolean;
}

/** A part of a message that asks for an approval, or answers it. */
interface ApprovalPart {
  type: string;
  approvalId: string;
  toolCallId: string;
}

/** Lists the requests for approval of a conversation. */
export function approvalRequestsOf(messages: readonly AiMessage[]): ApprovalRequest[] {
  const contents = messages.map(({ content }) => content).filter(Array.isArray);
  const parts: ApprovalPart[] = contents.flat();
  const answers = parts.filter(({ type }) => type === 'tool-approval-response');
  const answered = new Set(answers.map(({ approvalId }) => approvalId));
  const requests = parts.filter(({ type }) => type === 'tool-approval-request');
  return requests.map(({ approvalId, toolCallId }) => ({
    approvalId,
    toolCallId,
    isAnswered: answered.has(approvalId),
  }));
}
