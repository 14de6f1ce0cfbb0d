import type { RequestId } from './message.ts';

/** The line that answers a call with a text that says why it did not run. */
export function resultOf(id: RequestId, text: string, isModern: boolean): string {
  const result = {
    content: [{ type: 'text', text }],
    isError: true,
    ...(isModern && { resultType: 'complete' }),
  };
  return JSON.stringify({ jsonrpc: '2.0', id, result });
}

/** The line that answers a request with an error of JSON-RPC. */
export function errorOf(id: RequestId | null, code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });
}
