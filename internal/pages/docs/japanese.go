package docs

import (
	_ "embed" // the words
	"html/template"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/assayhq/assay/api/spec"
	"github.com/assayhq/assay/internal/domain/text"
)

// wording is what an operation does, in another language than that of its document.
type wording struct{ summary, about string }

// summary is the name of an operation in a language.
func summary(op *spec.Operation, l text.Locale) string {
	if w, ok := japanese[op.ID]; ok && l == text.Japanese {
		return w.summary
	}
	return op.Summary
}

// about says in a sentence or two what an operation does, in a language that its description is not written in.
func about(op *spec.Operation, l text.Locale) string {
	if l == text.Japanese {
		return japanese[op.ID].about
	}
	return ""
}

// japanese has the operations and events of both APIs by id. cancelOrder is in both and says the same.
var japanese = map[string]wording{
	"listCategories":      {"カテゴリ一覧", "カテゴリをすべて返します。brand_code を付けると、そのブランドで鑑定できるカテゴリに絞り込みます。"},
	"listBrands":          {"ブランド一覧", "ブランドを、対応するカテゴリとともに返します。"},
	"listModels":          {"モデル一覧", "ブランドとカテゴリに属するモデルを返します。"},
	"listAnswerTimes":     {"回答時間の一覧", "選択できる回答時間と価格を返します。available が true のものだけが注文に使えます。注文の直前に読み直してください。"},
	"listPhotoIndexes":    {"写真インデックスの一覧", "必要な写真（インデックス）を返します。ブランドやモデルを指定するほど内容が正確になります。"},
	"uploadPhotos":        {"写真をアップロード", "1 回に最大 10 枚の画像を multipart で送り、注文に使う管理 URL を受け取ります。この操作は冪等ではありません。"},
	"getBalance":          {"残高を取得", "キーの環境（テストまたは本番）のクレジット残高を返します。"},
	"createOrder":         {"注文を作成", "商品 1 点の鑑定を依頼します。代金は作成と同時に引き落とされます。Idempotency-Key を付ければ安全に再送できます。"},
	"listOrders":          {"注文一覧", "注文を新しい順に返します。ステータス、結果、日時などで絞り込めます。"},
	"getOrder":            {"注文を取得", "注文の現在の状態を返します。ID の代わりに external_id も使えます。"},
	"submitUpdatePhotos":  {"追加写真を提出", "update-photos の注文に、求められた写真を提出します。求められたすべてのインデックスに回答が必要です。"},
	"cancelOrder":         {"注文をキャンセル", "注文を canceled として終了し、代金を全額返金します。連携 API では queued の間だけ可能です。"},
	"simulateOrder":       {"テスト注文の状態を変更", "テスト注文を、今の状態にかかわらず指定した状態にします。その状態のイベントも送られます。本番の注文には使えません。"},
	"quote":               {"見積もり", "注文を作らずに、今の価格・納期・必要な写真を確認します。課金されません。"},
	"getMe":               {"キーの情報を取得", "リクエストに使ったキーの環境、スコープ、残りの利用枠、Webhook の状態を返します。"},
	"listEvents":          {"イベント一覧", "このキーで作成した注文のイベントを古い順に返します。障害後の追いつきや、Webhook を使わない連携に使います。"},
	"createCaptureLink":   {"撮影リンクを作成", "出品者がスマートフォンで写真を撮るための、1 回限りのリンクを作成します。"},
	"getCaptureLink":      {"撮影リンクを取得", "撮影リンクの状態と、提出された写真を返します。"},
	"revokeCaptureLink":   {"撮影リンクを取り消し", "開いている撮影リンクを直ちに無効にします。"},
	"listAuditEvents":     {"監査イベント一覧", "アカウントで行われた操作の記録を新しい順に返します。"},
	"createWebhook":       {"Webhook を登録", "イベントを受け取るエンドポイントを登録します。signing_secret はこの応答でのみ返されます。"},
	"listWebhooks":        {"Webhook 一覧", "このキーのエンドポイントを返します。シークレットは含まれません。"},
	"deleteWebhook":       {"Webhook を削除", "エンドポイントを削除し、未送信の配信を取り消します。"},
	"updateWebhook":       {"Webhook を一時停止・再開", "エンドポイントを一時停止、または再開します。停止中の配信は最大 7 日間保留されます。"},
	"rotateSecret":        {"シークレットを更新", "新しい署名シークレットを発行します。24 時間は新旧両方の署名が付きます。"},
	"getOpenAPI":          {"OpenAPI 定義（3.1）", "この API の定義を返します。キーは不要です。"},
	"getOpenAPI30":        {"OpenAPI 定義（3.0）", "3.1 を読めないツールのための、OpenAPI 3.0.3 形式の定義です。"},
	"receiveOrderOutcome": {"鑑定結果", "注文が完了し、結果が出たときに送られます。"},
	"receiveUpdatePhotos": {"追加写真の依頼", "注文が写真の追加や撮り直しを求めたときに送られます。"},

	"listDeskOrders": {"注文の一覧", "鑑定待ち・鑑定中の注文を期限の早い順に返します。"},
	"takeNextOrder":  {"次の注文を担当する", "期限が最も近い鑑定待ちの注文を担当します。"},
	"getDeskOrder":   {"注文を取得", "写真を含む、注文の全情報を返します。"},
	"claimOrder":     {"注文を担当する", "指定した鑑定待ちの注文を担当します。"},
	"releaseOrder":   {"担当を外す", "担当中の注文を鑑定待ちに戻します。"},
	"requestPhotos":  {"追加写真を依頼", "写真の追加や撮り直しを依頼します。回答が来るまで期限の計測は止まります。"},
	"completeOrder":  {"鑑定結果を登録", "結果と理由を登録して注文を完了します。"},
	"failOrder":      {"エラーとして終了", "鑑定できない注文を error として終了し、代金を返金します。"},
	"listReasons":    {"理由と語彙の一覧", "結果の理由、写真の状態、依頼内容として使えるコードを返します。"},
}

//go:embed japanese_fields.yaml
var japaneseFieldSource []byte

// japaneseFields are descriptions of parameters, fields and headers by their English words. A test finds errors in
// them, and descriptions that they lack.
var japaneseFields = sync.OnceValue(func() map[string]string {
	words := make(map[string]string)
	if err := yaml.Unmarshal(japaneseFieldSource, &words); err != nil {
		panic("docs: " + err.Error())
	}
	return words
})

// fieldWords is the description of a parameter, field or header in a language, or else in English.
func fieldWords(description string, l text.Locale) string {
	if words, ok := japaneseFields()[strings.TrimSpace(description)]; ok && l == text.Japanese {
		return words
	}
	return description
}

// fieldText is fieldWords as HTML.
func fieldText(description string, l text.Locale) (template.HTML, error) {
	words := fieldWords(description, l)
	if words == description {
		l = text.English
	}
	return markdownIn(words, l)
}

// termWords say types and rules in Japanese. They are applied one after the other.
var termWords = []struct {
	pattern *regexp.Regexp
	words   string
}{
	{regexp.MustCompile(`^array of (.+?)s?( or null)?$`), "$1 の配列$2"},
	{regexp.MustCompile(` or null$`), " または null"},
	{regexp.MustCompile(`^at most (\S+) characters$`), "$1 文字以下"},
	{regexp.MustCompile(`^at least (\S+) characters$`), "$1 文字以上"},
	{regexp.MustCompile(`^exactly (\S+) characters$`), "$1 文字"},
	{regexp.MustCompile(`^(\S+) to (\S+) characters$`), "$1〜$2 文字"},
	{regexp.MustCompile(`^at most (\S+) entries$`), "$1 件以下"},
	{regexp.MustCompile(`^at least (\S+) entries$`), "$1 件以上"},
	{regexp.MustCompile(`^exactly (\S+) entries$`), "$1 件"},
	{regexp.MustCompile(`^(\S+) to (\S+) entries$`), "$1〜$2 件"},
	{regexp.MustCompile(`^at most (\S+)$`), "$1 以下"},
	{regexp.MustCompile(`^at least (\S+)$`), "$1 以上"},
	{regexp.MustCompile(`^(\S+) to (\S+)$`), "$1〜$2"},
	{regexp.MustCompile(`^default (\S+)$`), "既定値 $1"},
	{regexp.MustCompile(`^not empty$`), "空は不可"},
	{regexp.MustCompile(`^no repeats$`), "重複不可"},
	{regexp.MustCompile(`^never returned$`), "返されません"},
}

// term says a type or a rule in a language.
func term(words string, l text.Locale) string {
	if l != text.Japanese {
		return words
	}
	for _, w := range termWords {
		words = w.pattern.ReplaceAllString(words, w.words)
	}
	return words
}
