import { euAiAct } from './controls/eu-ai-act';
import { gdpr } from './controls/gdpr';
import { hipaa } from './controls/hipaa';
import { iso27001 } from './controls/iso27001';
import { soc2Type1, soc2Type2 } from './controls/soc2';
import type { Framework } from './findings';
import type { ReportType } from './report-type';

/** The frameworks, by what people call them. */
export const FRAMEWORKS: Record<ReportType, { name: string; controls: Framework }> = {
  soc2_type1: { name: 'SOC 2 Type 1 (trust services criteria)', controls: soc2Type1 },
  soc2_type2: { name: 'SOC 2 Type 2 (trust services criteria)', controls: soc2Type2 },
  iso27001: { name: 'ISO/IEC 27001:2022, Annex A', controls: iso27001 },
  hipaa: { name: 'HIPAA Security Rule (45 CFR 164)', controls: hipaa },
  gdpr: { name: 'GDPR (Regulation (EU) 2016/679)', controls: gdpr },
  eu_ai_act: { name: 'EU AI Act (Regulation (EU) 2024/1689)', controls: euAiAct },
};
