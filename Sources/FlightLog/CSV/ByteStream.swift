import Foundation

/// The bytes of a file, a piece at a time; a file whose name ends in `.gz` is read through a `gzip -dc` child process.
///
/// One owner reads it to the end, or drops it earlier (which ends the child). Not Sendable.
final class ByteStream {
  private let url: URL
  private let file: FileHandle
  private let gzip: GzipProcess?

  init(_ url: URL) throws {
    self.url = url
    let isDirectory = (try? url.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory
    guard let isDirectory else { throw FlightLogError("There is no file \(url.path).") }
    guard !isDirectory else { throw FlightLogError("\(url.path) is a folder, not a file.") }
    guard let file = try? FileHandle(forReadingFrom: url) else {
      throw FlightLogError("The file \(url.path) may not be read.")
    }
    self.file = file
    gzip = url.pathExtension == "gz" ? try GzipProcess(unpacking: file) : nil
  }

  /// Reads up to `count` bytes and appends them to `bytes`; false at the end of the file.
  ///
  /// - Throws: when the file cannot be read, or when gzip found it damaged.
  func read(upTo count: Int, into bytes: inout [UInt8]) throws -> Bool {
    let piece: Data?
    do {
      piece = try (gzip?.output ?? file).read(upToCount: count)
    } catch {
      throw FlightLogError("Reading \(url.path) failed: \(error.localizedDescription)")
    }
    if let piece, !piece.isEmpty {
      bytes.append(contentsOf: piece)
      return true
    }
    if let complaint = gzip?.finish() {
      throw FlightLogError("The file \(url.path) cannot be unpacked: \(complaint).")
    }
    return false
  }
}
