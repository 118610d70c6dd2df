import ArgumentParser
import Foundation
import StrataAppleSQLite
import StrataCore

/// Why a command has failed: one sentence, an exit code, and what to do next.
struct Failure: Error, LocalizedError {
  /// The exit codes. Scripts depend on them: Docs/Tools.md lists them.
  enum Kind: Int32, CaseIterable {
    /// Nothing more exact can be said.
    case other = 1
    /// It is done, but not everything came along.
    case incomplete = 2
    /// The store's bytes contradict themselves.
    case damaged = 3
    /// There is no such file, folder, object or history.
    case missing = 4
    /// The file is something else than a store, or one that cannot be opened here.
    case notAStore = 5
    /// Somebody else uses the store.
    case busy = 6
    /// Permission is missing.
    case permission = 7
    /// The output cannot be written: a full disk, a closed pipe.
    case output = 8
    /// Models do not fit, or something would be lost.
    case model = 9
    /// There is such a file already.
    case exists = 10
    /// The data to be read in is wrong.
    case input = 11
    /// The command line is wrong.
    case usage = 64
  }

  let kind: Kind
  let sentence: String
  /// The command that helps; nil where none does.
  var advice: String?
  /// Whether line breaks are meant: a place is pointed to.
  var keepsLines = false

  init(_ kind: Kind, _ sentence: String, advice: String? = nil) {
    self.kind = kind
    self.sentence = sentence
    self.advice = advice
  }

  var errorDescription: String? { text }

  /// What is printed behind “strata: ”.
  var text: String {
    let sentence =
      keepsLines ? sentence : sentence.split(whereSeparator: \.isNewline).joined(separator: " ")
    guard let advice else { return sentence }
    return keepsLines ? "\(sentence)\n\(advice)" : "\(sentence) \(advice)"
  }
}

extension Failure {
  /// What any error means for somebody at a command line.
  init(_ error: any Error, store: String? = nil) {
    switch error {
    case let failure as Failure: self = failure
    case let error as StorageError: self = Self(error, store ?? error.path)
    case let error as CoreDataError: self = Self(error, store)
    case let error as AppleStoreError: self = Self(error)
    case let error as OutputError: self.init(.output, error.description)
    case let error as StoreIntake.Refusal:
      self.init(.input, error.line > 0 ? "Line \(error.line): \(error.description)" : error.description)
    case let error as ModelError: self.init(.model, error.description)
    case let error as FetchError: self.init(.usage, error.description)
    case let error as TextMatchError: self.init(.usage, error.description)
    case let error as PredicateSyntaxError:
      self.init(.usage, error.description)
      keepsLines = true
    case let error as CocoaError:
      let kind: Kind =
        switch error.code {
        case .fileReadNoSuchFile, .fileNoSuchFile: .missing
        case .fileReadNoPermission: .permission
        case .fileWriteNoPermission, .fileWriteVolumeReadOnly: .permission
        case .fileWriteOutOfSpace: .output
        case .fileWriteFileExists: .exists
        default: .other
        }
      self.init(kind, error.localizedDescription)
    // Without words of its own, Foundation would say that the operation could not be completed.
    case let error as any CustomStringConvertible
    where !(error is any LocalizedError) && !(error is any CustomNSError) && type(of: error) != NSError.self:
      self.init(.other, error.description)
    default: self.init(.other, error.localizedDescription)
    }
  }

  private init(_ error: AppleStoreError) {
    let kind: Kind =
      switch error.kind {
      case .missing: .missing
      case .exists: .exists
      case .notAStore, .unsupported, .needsHashes: .notAStore
      case .damaged, .difference: .damaged
      case .busy: .busy
      case .permission: .permission
      case .output: .output
      case .noModel, .model, .losses: .model
      case .noVersion: .usage
      case .other: .other
      }
    let advice: String? =
      switch error.kind {
      case .noModel: "--model names it."
      case .needsHashes: Self.hashAdvice
      case .noVersion: "--model-version names it."
      default: nil
      }
    self.init(kind, error.description, advice: advice)
  }

  /// What has to be brought for a store in Apple's format.
  static let hashAdvice =
    "--template names an empty store that the app has made, --version-info the file VersionInfo.plist in the app's compiled model (.momd)."

  /// What helps with a damaged store. Only files are salvaged.
  static func damageAdvice(_ store: String) -> String {
    StorePath.address(store) == nil
      ? "“strata salvage \(Words.quoted(store)) NEW” brings back what is readable."
      : "On the server, rename back what was renamed, mend or delete the row that is named, or restore what pg_dump has saved."
  }

  private init(_ error: StorageError, _ store: String) {
    var error = error
    // A file that was being made has another name, which nobody knows.
    if let name = error.path.split(separator: "/").last, name.hasPrefix(".strata-") { error.path = store }
    let name = Words.quoted(store)
    switch error.kind {
    case .damaged, .truncated:
      self.init(.damaged, error.description, advice: Self.damageAdvice(store))
    case .missing: self.init(.missing, error.description)
    case .exists: self.init(.exists, error.description)
    case .notADatabase where AppleSQLite.isStore(at: URL(fileURLWithPath: store)):
      self.init(
        .notAStore, "\(store) is a store of Apple's Core Data.",
        advice: "“strata import \(name) NEW” makes a store of Strata of it.")
    case .notADatabase, .unsupportedFormat, .unsupportedLibrary, .aliased, .networkFileSystem:
      self.init(.notAStore, error.description)
    case .busy, .readersFull:
      self.init(
        .busy, error.description,
        advice: StorePath.address(store) == nil
          ? "“strata backup \(name) COPY” makes a copy that nobody else uses." : "Try again.")
    case .replaced:
      self.init(
        .busy, error.description,
        advice: "Try again. If that does not help, end the programs that have the old file open.")
    case .permission, .readOnlyMedia:
      self.init(
        .permission, error.description,
        advice: error.operation == "mdb_env_open" ? "A copy of the file in another folder can be read." : nil)
    case .diskFull: self.init(.output, error.description)
    case .refused: self.init(.permission, error.description)
    case .serverBusy: self.init(.busy, error.description, advice: "Try again.")
    default: self.init(.other, error.description)
    }
  }

  private init(_ error: CoreDataError, _ store: String?) {
    let name = store.map(Words.quoted) ?? "STORE"
    switch error.code {
    case .persistentStoreIncompatibleVersionHash, .persistentStoreIncompatibleSchema, .inferredMappingModel,
      .migrationMissingSourceModel, .migrationMissingMappingModel, .managedObjectModelReferenceNotFound:
      // It reads files only.
      let isAddress = store.map { StorePath.address($0) != nil } ?? false
      self.init(
        .model, error.localizedDescription,
        advice: isAddress ? nil : "“strata diff \(name) MODEL” says what differs and what would be lost.")
    case .migration, .migrationConstraintViolation: self.init(.model, error.localizedDescription)
    case .persistentHistoryTokenExpired:
      self.init(
        .missing, error.localizedDescription,
        advice: "“strata history \(name)” lists what the history still tells.")
    case .persistentStoreUnsupportedRequestType: self.init(.missing, error.localizedDescription)
    default: self.init(.other, error.localizedDescription)
    }
  }
}
