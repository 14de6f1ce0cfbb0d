export const REPORT_TYPES = ['soc2_type1', 'soc2_type2', 'iso27001', 'hipaa', 'gdpr', 'eu_ai_act'] as const;

/** The framework whose controls a report goes through. */
export type ReportType = (typeof REPORT_TYPES)[number];
