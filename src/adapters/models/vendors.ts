// The code for each vendor that a config can name.
import type { VendorType } from '#contracts';
import { anthropic } from './anthropic.ts';
import { google } from './google.ts';
import { ollama, openaiCompatible } from './openai-compatible.ts';
import { openai } from './openai.ts';
import { openrouter } from './openrouter.ts';
import type { Vendor } from './vendor.ts';

export const vendorCode: Readonly<Record<VendorType, Vendor>> = {
  openai,
  anthropic,
  google,
  openrouter,
  ollama,
  'openai-compatible': openaiCompatible,
};
