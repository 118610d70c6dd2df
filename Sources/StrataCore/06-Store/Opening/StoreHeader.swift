import Foundation

/// What a store says about itself before anything is known of its model.
struct StoreHeader: Sendable {
  let identifier: UUID
  /// Whether versions that know nothing of logs refuse the store.
  let mayHaveLog: Bool
  let metadata: StoreMetadata
  let versions: StoredVersions
  let commitNumber: UInt64
  /// Which versions of its model the store was of before.
  let lineage: StoreLineage
  /// The files that it has taken the place of and that still lie beside it.
  let replaced: [ReplacedFile]

  /// - Throws: ``StorageError`` of kind `notADatabase`, `unsupportedFormat` or `damaged`.
  init(_ meta: MetaKeyspace, _ transaction: borrowing ReadTransaction, path: String) throws {
    guard let format = try meta.number("format", UInt32.self, transaction) else {
      throw StorageError(
        .notADatabase, operation: "read header", path: path, detail: "The file is no store: it has no format."
      )
    }
    guard (MetaKeyspace.plainFormat...MetaKeyspace.filledFormat).contains(format) else {
      throw StorageError(
        .unsupportedFormat, operation: "read header", path: path,
        detail: "The store is of format \(format), this version reads up to \(MetaKeyspace.filledFormat).")
    }
    mayHaveLog = format >= MetaKeyspace.loggedFormat
    let stamp = CommitStamp(try meta.bytes("stamp", transaction))
    let notes: (lineage: StoreLineage, replaced: [ReplacedFile])?
    do {
      notes = (try meta.lineage(transaction), try meta.replacedFiles(transaction))
    } catch let error as StorageError where error.kind != .damaged {
      // What cannot be read now is not damaged.
      throw error
    } catch { notes = nil }
    let generation = try meta.number("generation", UInt64.self, transaction) ?? 0
    guard let identity = try meta.bytes("identity", transaction), identity.count == 16, let stamp,
      stamp.commitNumber < CommitStamp.limit, generation < CommitStamp.limit,
      let versions = try meta.data("versions", transaction),
      let decoded = try? BoundedJSON.decode(StoredVersions.self, from: versions), let notes
    else {
      throw StorageError(
        .damaged, operation: "read header", path: path,
        detail: "The store's description of itself is damaged.")
    }
    identifier = UUID(uuid: identity.loadUnaligned(as: uuid_t.self))
    self.versions = decoded
    self.lineage = notes.lineage
    self.replaced = notes.replaced
    commitNumber = stamp.commitNumber
    guard let data = try meta.data("metadata", transaction) else {
      metadata = StoreMetadata()
      return
    }
    guard let decoded = try? StoreMetadata(encoded: data) else {
      throw StorageError(
        .damaged, operation: "read header", path: path, detail: "The store's metadata is damaged.")
    }
    metadata = decoded
  }

  /// Whether the file holds nothing yet: one that was just created, or of a store that was destroyed, or whose creator was interrupted before it wrote more
  /// than the empty keyspace of the header.
  static func isEmpty(_ environment: Environment) throws -> Bool {
    let names = try keyspaceNames(environment)
    if names.isEmpty { return true }
    guard names == [MetaKeyspace.name], let meta = try environment.keyspaces(names)[0] else { return false }
    return try environment.read { try $0.entryCount(meta) == 0 }
  }

  /// Refuses files that hold no store yet, and LMDB files of other programs before anything is created in them.
  static func requireMeta(_ environment: Environment) throws {
    if try isEmpty(environment) { throw empty(environment) }
    guard try keyspaceNames(environment).contains(MetaKeyspace.name) else {
      throw StorageError.foreign(environment.path)
    }
  }

  /// The names in LMDB's unnamed database, which every transaction knows under the number 1.
  static func keyspaceNames(_ environment: Environment) throws -> [String] {
    try environment.read { transaction in
      var names: [String] = []
      try transaction.forEach(in: Keyspace(handle: 1, name: "")) {
        names.append(String(decoding: $0.key, as: UTF8.self))
      }
      return names
    }
  }

  /// The error for a file that becomes a store as soon as it is opened for writing.
  static func empty(_ environment: Environment) -> StorageError {
    StorageError(
      .notADatabase, operation: "open store", path: environment.path,
      detail:
        "The file holds no store: the one in it was destroyed, or whoever began to make one was interrupted. Opened for writing it becomes a new store."
    )
  }
}

extension StoreMetadata {
  /// The metadata with the standard keys (rule 303).
  func adding(identifier: UUID, type: String, versions: StoredVersions) -> StoreMetadata {
    var result = self
    result[Self.identifierKey] = .string(identifier.uuidString)
    result[Self.typeKey] = .string(type)
    result[Self.versionHashesKey] = .dictionary(versions.hashes.mapValues { .data($0) })
    result[Self.versionIdentifiersKey] = .array(versions.identifiers.map { .string($0) })
    return result
  }
}
