import Foundation

/// The library's errors as Core Data throws them.
package enum FoundationErrors {
  /// A `CocoaError`, which `as NSError`, `catch let error as NSError`, `as? CocoaError` and `catch CocoaError.validationMissingMandatoryProperty`
  /// all understand. An error that is not the library's own, of a validation method for instance, is itself.
  /// - Parameter code: the code for errors below Core Data's: of files, of models.
  package static func error(
    for error: any Error,
    _ code: CocoaError.Code = CocoaError.Code(rawValue: CoreDataError.Code.coreData.rawValue)
  ) -> any Error {
    switch error {
    case let error as CoreDataError: return error.cocoaError
    case let error as StorageError:
      var info: [String: Any] = [
        NSLocalizedDescriptionKey: error.description, NSUnderlyingErrorKey: error as NSError,
      ]
      if !error.path.isEmpty {
        info[NSFilePathErrorKey] = error.path
        info[NSURLErrorKey] = URL(fileURLWithPath: error.path)
      }
      return CocoaError(fileCode(of: error) ?? code, userInfo: info)
    case is ModelError, is FetchError, is TextMatchError, is RowError, is PredicateArgumentError,
      is PredicateSyntaxError, is PredicateTranslationError:
      return CocoaError(
        code, userInfo: [NSLocalizedDescriptionKey: "\(error)", NSUnderlyingErrorKey: error as NSError])
    default: return error
    }
  }

  /// Foundation's code for what is wrong with a file, Core Data's for a store that was removed from its coordinator meanwhile; nil for what else is a matter of stores.
  private static func fileCode(of error: StorageError) -> CocoaError.Code? {
    switch error.kind {
    case .notADatabase:
      var isFolder: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: error.path, isDirectory: &isFolder)
      return exists && isFolder.boolValue ? .fileReadUnknown : .fileReadCorruptFile
    case .damaged, .truncated, .unsupportedFormat: return .fileReadCorruptFile
    // A folder that is missing keeps a file from being made.
    case .missing: return error.operation == "realpath" ? .fileWriteUnknown : .fileReadNoSuchFile
    case .permission:
      return FileManager.default.fileExists(atPath: error.path)
        && !FileManager.default.isReadableFile(atPath: error.path)
        ? .fileReadNoPermission : .fileWriteNoPermission
    case .readOnlyMedia: return .fileWriteVolumeReadOnly
    case .diskFull, .mapFull: return .fileWriteOutOfSpace
    case .invalid where error.code == ENAMETOOLONG: return .fileWriteInvalidFileName
    case .closed: return CocoaError.Code(rawValue: CoreDataError.Code.persistentStoreOperation.rawValue)
    default: return nil
    }
  }
}
