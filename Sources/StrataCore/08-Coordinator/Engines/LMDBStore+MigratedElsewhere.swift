import Foundation

extension LMDBStore {
  /// What an error of a write means: when the file was exchanged since another process has migrated it, ``CoreDataError`` 134100 with
  /// what differs and the error below it; otherwise the error itself. Looks at the file only after it was replaced.
  package func explained(_ error: any Error) -> any Error {
    guard let replaced = error as? StorageError, replaced.kind == .replaced else { return error }
    return migratedElsewhere(replaced) ?? error
  }

  private func migratedElsewhere(_ error: StorageError) -> CoreDataError? {
    guard let url, let found = try? LMDBStore.metadata(at: url),
      found[StoreMetadata.identifierKey] == .string(identifier.uuidString)
    else { return nil }
    let (theirs, ours) = (found.versionHashes, metadata.versionHashes)
    if theirs == ours { return nil }
    let entities = Set(theirs.keys).union(ours.keys).filter { theirs[$0] != ours[$0] }.sorted()
    let model = try? LMDBStore.model(at: url)
    let sentences = model.map { ModelDifference.sentences(from: parts.schema.model, to: $0) } ?? []
    let difference = (sentences.isEmpty ? entities.map { "\($0) differs" } : sentences).joined(
      separator: "; ")
    return CoreDataError(
      .persistentStoreIncompatibleVersionHash,
      "Another process has migrated the store at \(url.path) to another version of its model since it was opened here: "
        + "\(difference). Nothing was saved. What was read before can still be read; to save, remove the store and add it again with the new model.",
      userInfo: [
        "metadata": found.dictionary, "NSStoreIncompatibleEntities": entities,
        "NSStoreModelDifferences": sentences, NSUnderlyingErrorKey: error,
      ])
  }
}
