/** The newest protocol revision of MCP, and the newest of the era before it. */
export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;
