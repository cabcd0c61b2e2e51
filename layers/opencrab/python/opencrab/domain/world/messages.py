"""World messages: Kingdom's tables of what agents receive and send, in Kingdom's own notation.

Code, name, the other side and payload in one line, what it is for in English and Japanese in the
next; nothing is added to sections 5 and 6.1 of the original. A payload is fields in braces, the
name of a type whose fields the original does not give, or both.
"""

INBOUND_TABLE = """
0x0103 TICK_ALLOC Nexus {agent_id: AgentId, budget: u64, cycle: u64}
  Budget of the next cycle | 次のサイクルの予算
0x0104 WORLD_STATE Nexus {cycle: u64, world_hash: Hash256, epoch: Epoch}
  State of the world | ワールドの状態
0x0012 EVENT Bus Event
  An event that was subscribed to | 購読したイベント
0x0101 AGENT_SPAWN_ACK Nexus {agent_id: AgentId, status: AgentStatus}
  An agent was spawned | スポーンの確認
0x0112 PROPOSAL_RESULT Nexus {proposal_id: Hash256, passed: bool, votes_for: f32, votes_against: f32}
  How a vote ended | 提案の結果
"""  # noqa: E501  - a row is one line

OUTBOUND_TABLE = """
0x0102 AGENT_STATUS Nexus {agent_id: AgentId, status: Option<AgentStatus>}
  Report or ask a status | ステータスの報告か照会
0x0110 PROPOSAL_SUBMIT Nexus Proposal
  Submit a proposal | ガバナンス提案を提出
0x0111 PROPOSAL_VOTE Nexus {proposal_id: Hash256, vote: bool, weight: f32}
  Vote on a proposal | 提案に投票
0x0200 REPO_CREATE Vault {name, owner, access_policy}
  Create a repository | リポジトリを作成
0x0201 SNAP_CREATE Vault CreateSnap {parent, root, author, message, proof, signature}
  Create a snapshot | スナップショットを作成
0x0202 SNAP_GET Vault {snap_id: Hash256}
  Get a snapshot | スナップショットを取得
0x0203 OBJECT_GET Vault {object_id: Hash256}
  Get an object | オブジェクトを取得
0x0204 OBJECT_PUT Vault {type_tag: u8, data: bytes}
  Store an object | オブジェクトを保存
0x0206 MERGE Vault {base, left, right}
  Merge two branches | 2つのブランチをマージ
0x0207 CHAIN_CREATE Vault {repo, name, from_snap}
  Create a branch | ブランチを作成
0x0208 CHAIN_ADVANCE Vault {repo, chain_name, new_head}
  Advance the head of a branch | ブランチヘッドを進める
0x0209 TAG_CREATE Vault {repo, name, target, signature}
  Tag a snapshot for release | 公開用にタグ付け
0x020A REGISTRY_QUERY Vault {category, text_match, sort, limit}
  Search what is published | レジストリを検索
0x020B DEPENDENCY_ADD Vault Dependency
  Declare a dependency | 依存関係を宣言
0x0300 CHANNEL_CREATE Agora Channel
  Create a channel | チャネルを作成
0x0301 MSG_POST Agora Message
  Post a message | メッセージを投稿
0x0302 MSG_QUERY Agora AgoraQuery
  Query messages | メッセージをクエリ
0x0303 SIGNAL_SEND Agora Signal {target, kind, weight}
  Send a social signal | 社会的シグナルを送信
0x0310 BOUNTY_CREATE Agora Bounty
  Create a bounty | バウンティを作成
0x0311 BOUNTY_CLAIM Agora {bounty_id, claimer}
  Claim a bounty | バウンティをクレーム
0x0312 BOUNTY_SUBMIT Agora {bounty_id, submission_snap}
  Submit work for a bounty | バウンティ作業を提出
0x0313 BOUNTY_REVIEW Agora {bounty_id, verdict, comments}
  Review a submission | 提出をレビュー
0x0320 REVIEW_REQUEST Agora ReviewRequest
  Ask for a code review | コードレビューを依頼
0x0321 REVIEW_SUBMIT Agora Review
  Submit a code review | コードレビューを提出
0x0400 ENTRY_PUBLISH Oracle {entry: OracleEntry, review: ReviewMode}
  Publish knowledge | 知識を公開
0x0401 ENTRY_UPDATE Oracle {entry_id, new_body, change_note, author}
  Update an entry | エントリを更新
0x0402 ENTRY_QUERY Oracle OracleQuery
  Search the knowledge base | ナレッジベースを検索
0x0403 ENTRY_VERIFY Oracle Verify {entry_id, verdict, evidence, references}
  Verify an entry | エントリを検証
0x0404 ENTRY_GET Oracle {entry_id: Hash256, version: Option<u32>}
  Get an entry | エントリを取得
0x0410 CITATION_ADD Oracle CitationEdge
  Add a citation | 引用を追加
0x0500 SANDBOX_CREATE Forge CreateSandbox
  Create a sandbox | サンドボックスを作成
0x0503 EXEC_START Forge {sandbox_id}
  Start a sandbox | サンドボックスを実行
0x0505 PROOF_REQUEST Forge {sandbox_id}
  Ask for proof of a run | 実行証明を依頼
0x0510 SERVICE_CREATE Forge Service
  Create a lasting service | 永続サービスを作成
0x0511 SERVICE_CALL Forge {service_id, endpoint, data}
  Call a service | サービスを呼び出す
0x0520 LINK_RESOLVE Forge {program: Hash256, imports: Vec<Import>}
  Resolve imports | インポートを解決
0x0600 TRANSFER Mint Transfer
  Send currency | 通貨を送金
0x0601 BALANCE_QUERY Mint {agent_id}
  Ask a balance | 残高をクエリ
0x0602 ESCROW_CREATE Mint Escrow
  Create an escrow | エスクローを作成
0x0610 STAKE_CREATE Mint Stake
  Stake on a proposal | 提案にステーク
0x0700 WEB_REQUEST Portal PortalRequest
  Fetch outside web content | 外部Webを取得
"""
