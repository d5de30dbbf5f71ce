// The official TypeScript client in front of the gateway: COMMAND ARGUMENTS... lists the tools and reads FILE.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [file, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const { tools } = await client.listTools();
const result = await client.callTool({ name: "files__read_text_file", arguments: { path: file } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), text: result.content[0].text }));
await client.close();
