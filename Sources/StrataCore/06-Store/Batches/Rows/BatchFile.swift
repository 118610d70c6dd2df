import Foundation

/// A file of one batch: it loses its name as soon as it is made. Of a process that is killed between the two an empty file is left.
final class BatchFile: @unchecked Sendable {
  // Unchecked: as `BatchRows`, which alone uses it.
  private let folder: String
  private let system: FileSystem
  private var descriptor: Int32 = -1
  /// How many bytes have been added.
  private(set) var length = 0

  init(folder: String, system: FileSystem) {
    self.folder = folder
    self.system = system
  }

  deinit { if descriptor >= 0 { _ = system.close(descriptor) } }

  /// What a file says that has lost its end.
  var isShort: StorageError {
    StorageError(
      .damaged, operation: "pread", path: folder,
      detail: "The file of a batch insert is not what was written."
    )
  }

  /// Adds bytes; where they begin.
  func append(_ bytes: Data) throws -> Int {
    if descriptor < 0 { try make() }
    let start = length
    try FileSizeLimit.withoutSignal {
      try bytes.withUnsafeBytes { try system.writeAll(descriptor, $0, at: start, path: folder) }
    }
    length += bytes.count
    return start
  }

  /// Fills `buffer` with what was added, from `offset` on.
  func read(_ offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws {
    var done = 0
    while done < buffer.count {
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
      let read = system.read(descriptor, part, offset + done)
      if read < 0 { throw StorageError(Int32(-read), "pread", path: folder) }
      if read == 0 { throw isShort }
      done += read
    }
  }

  private func make() throws {
    let path = "\(folder)/.strata-batch-\(UUID().uuidString)"
    let opened = system.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if opened < 0 { throw StorageError(-opened, "open", path: path) }
    descriptor = opened
    let code = system.unlink(path)
    if code < 0 { throw StorageError(-code, "unlink", path: path) }
  }
}
