import Foundation

/// The bytes of a file, a piece at a time; a file whose name ends in `.gz` is read through a `gzip -dc` child process.
///
/// One owner reads it to the end, or drops it earlier (which ends the child). Not Sendable.
final class ByteStream {
  private let url: URL
  private let handle: FileHandle
  private let gzip: Process?
  private let gzipErrors: Pipe?

  init(_ url: URL) throws {
    self.url = url
    let isDirectory = (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory
    guard let isDirectory else { throw FlightLogError("There is no file \(url.path).") }
    guard !isDirectory else { throw FlightLogError("\(url.path) is a folder, not a file.") }
    guard let file = try? FileHandle(forReadingFrom: url) else {
      throw FlightLogError("The file \(url.path) may not be read.")
    }
    guard url.pathExtension == "gz" else {
      (handle, gzip, gzipErrors) = (file, nil, nil)
      return
    }
    let process = Process()
    let output = Pipe()
    let errors = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["gzip", "-dc"]
    process.standardInput = file
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    (handle, gzip, gzipErrors) = (output.fileHandleForReading, process, errors)
  }

  deinit {
    guard let gzip, gzip.isRunning else { return }
    gzip.terminate()
    gzip.waitUntilExit()
  }

  /// Reads up to `count` bytes and appends them to `bytes`; false at the end of the file.
  ///
  /// - Throws: when the file cannot be read, or when gzip found it damaged.
  func read(upTo count: Int, into bytes: inout [UInt8]) throws -> Bool {
    let piece: Data?
    do {
      piece = try handle.read(upToCount: count)
    } catch {
      throw FlightLogError("Reading \(url.path) failed: \(error.localizedDescription)")
    }
    if let piece, !piece.isEmpty {
      bytes.append(contentsOf: piece)
      return true
    }
    try finish()
    return false
  }

  private func finish() throws {
    guard let gzip, let gzipErrors else { return }
    gzip.waitUntilExit()
    guard gzip.terminationStatus != 0 else { return }
    let reason = String(decoding: gzipErrors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    throw FlightLogError(
      "The file \(url.path) cannot be unpacked: \(reason.trimmingCharacters(in: .whitespacesAndNewlines)).")
  }
}
