import Foundation
import StrataCore
import Testing

/// A PostgreSQL server of the tests' own: in a temporary folder, reached through a socket only. Started when it is first asked for; it ends with the
/// test process, however that ends.
final class TestServer: Sendable {
  /// The server; nil when PostgreSQL is not installed or does not start. Then ``missing`` says why.
  static let shared: TestServer? = {
    guard let programs else { return nil }
    do {
      return try TestServer(programs)
    } catch {
      FileHandle.standardError.write(Data("The test server does not start: \(error)\n".utf8))
      return nil
    }
  }()

  /// What the tests that need a server say when there is none.
  static let missing: Comment =
    "These tests need PostgreSQL's server programs, and found none that work: install the package postgresql (Scripts/setup does), or name their folder in PG_BIN."

  /// The folder of the server's programs: that of `PG_BIN`, `pg_config`'s, or Debian's newest.
  private static let programs: URL? = {
    func holdsAll(_ folder: URL) -> Bool {
      ["initdb", "postgres"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: folder.appendingPathComponent($0).path)
      }
    }
    var folders: [URL] = []
    if let named = ProcessInfo.processInfo.environment["PG_BIN"] {
      folders.append(URL(fileURLWithPath: named))
    }
    if let told = try? output("pg_config", ["--bindir"]) { folders.append(URL(fileURLWithPath: told)) }
    let debian = URL(fileURLWithPath: "/usr/lib/postgresql")
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian.path)) ?? []
    for version in versions.compactMap({ Int($0) }).sorted(by: >) {
      folders.append(debian.appendingPathComponent("\(version)/bin"))
    }
    return folders.first(where: holdsAll)
  }()

  let folder: URL
  /// Orders to the shell that looks after the server; its end is the server's end.
  private let orders: Pipe

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Where a server listens besides its socket.
  struct Network {
    let addresses: [String]
    /// Who may connect without a password: addresses and the length of their common part.
    let clients: String
  }

  /// A disk of its own that a server has, in memory, mounted where nobody else sees it: the folder `small`.
  struct SmallDisk {
    /// What is on it.
    enum Use: String { case tables, log }

    let use: Use
    let megabytes: Int

    /// Why there can be none here; nil when there can.
    static let obstacle: String? = {
      guard getuid() == 0 else { return "Only root can mount a disk for a server that is to be full." }
      do {
        let folder = FileManager.default.temporaryDirectory.path
        _ = try TestServer.output(
          "unshare", ["-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder])
        return nil
      } catch { return "This process may not mount a disk for a server that is to be full." }
    }()
  }

  /// Another server, which the test may stop. It ends when nobody holds it.
  static func own(_ network: Network? = nil, disk: SmallDisk? = nil) throws -> TestServer {
    try TestServer(try #require(programs, missing), network, disk)
  }

  private init(_ programs: URL, _ network: Network? = nil, _ disk: SmallDisk? = nil) throws {
    // Short: the name of a socket has at most 107 bytes.
    folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "pg\(getpid())-\(UInt16.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    orders = Pipe()
    let shell = Process()
    // The server refuses to run as root: then it runs as the user that its package has made.
    if getuid() == 0 {
      _ = try Self.output("chown", ["postgres", folder.path])
      shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      let arguments = ["runuser", "-u", "postgres", "--", "/bin/sh", "-c", Self.script]
      shell.arguments =
        disk == nil ? arguments : ["unshare", "-m", "/bin/sh", "-c", Self.mounting, "sh"] + arguments
    } else {
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      shell.arguments = ["-c", Self.script]
    }
    var environment = ProcessInfo.processInfo.environment
    environment["SERVER_FOLDER"] = folder.path
    environment["SERVER_PROGRAMS"] = programs.path
    environment["SERVER_ADDRESSES"] = network?.addresses.joined(separator: ",") ?? ""
    environment["SERVER_CLIENTS"] = network?.clients ?? ""
    environment["SERVER_DISK"] = disk.map { "\($0.megabytes)m" } ?? ""
    environment["SERVER_LOG"] = disk?.use == .log ? "-X \(folder.path)/small/log --wal-segsize=1" : ""
    shell.environment = environment
    shell.currentDirectoryURL = folder
    shell.standardInput = orders
    shell.standardOutput = FileHandle.nullDevice
    shell.standardError = FileHandle.nullDevice
    try shell.run()
    do {
      try waitUntilReady(shell)
    } catch {
      try? orders.fileHandleForWriting.close()
      throw error
    }
  }

  /// Mounts the small disk for the program that is said behind, and removes it when that has ended.
  private static let mounting = """
    mkdir "$SERVER_FOLDER/small" && mount -t tmpfs -o "size=$SERVER_DISK" tmpfs "$SERVER_FOLDER/small" || exit 1
    chown postgres "$SERVER_FOLDER/small" || exit 1
    "$@"
    umount "$SERVER_FOLDER/small" && rmdir "$SERVER_FOLDER/small" "$SERVER_FOLDER"
    """

  /// Reads orders, and ends the server when there are no more: when the test process is gone.
  private static let script = """
    cd "$SERVER_FOLDER" || exit 1
    "$SERVER_PROGRAMS/initdb" -D data -U tests --locale=C -E UTF8 -A trust -N $SERVER_LOG > initdb.log 2>&1 || exit 1
    [ -z "$SERVER_CLIENTS" ] || echo "host all all $SERVER_CLIENTS trust" >> data/pg_hba.conf
    begin() {
      "$SERVER_PROGRAMS/postgres" -D data -k "$SERVER_FOLDER" -c listen_addresses="$SERVER_ADDRESSES" -c max_connections=200 \
        -c tcp_user_timeout=1000 -c tcp_keepalives_idle=1 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=2 \
        -c shared_buffers=64MB -c fsync=off >> server.log 2>&1 < /dev/null &
      server=$!
    }
    begin
    while read -r order; do
      case "$order" in
      kill) kill -QUIT $server; wait $server ;;
      stop) kill -INT $server; wait $server ;;
      begin) begin ;;
      fill) head -c 1000000000 /dev/zero > small/filler 2> /dev/null; touch filled ;;
      room) rm small/filler filled ;;
      esac
    done
    kill -QUIT $server; wait $server
    cd /
    rm -rf "$SERVER_FOLDER/data" "$SERVER_FOLDER"/*.log "$SERVER_FOLDER/filled" "$SERVER_FOLDER"
    """

  private func waitUntilReady(_ shell: Process?) throws {
    // A machine that is busy with other things takes its time, above all for a recovery. A server that has ended is noticed at once.
    let end = Date(timeIntervalSinceNow: 600)
    while Date() < end {
      if let shell, !shell.isRunning { break }
      if (try? Self.output("pg_isready", ["-q", "-h", folder.path])) != nil { return }
      Thread.sleep(forTimeInterval: 0.02)
    }
    let log = (try? String(contentsOf: folder.appendingPathComponent("server.log"), encoding: .utf8)) ?? ""
    throw Failure(description: "PostgreSQL does not answer in \(folder.path). \(log.suffix(500))")
  }

  private static func output(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(description: "\(program) failed.") }
    return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Ends the server at once, as a crash would, and starts it again.
  func crash() throws { try restart("kill") }

  /// Stops the server in order, which ends all sessions, and starts it again.
  func restart() throws { try restart("stop") }

  /// Fills the small disk to the last byte, or makes room again.
  func fillDisk(_ isFull: Bool) throws {
    try order(isFull ? "fill" : "room")
    let mark = folder.appendingPathComponent("filled").path
    let end = Date(timeIntervalSinceNow: 600)
    while FileManager.default.fileExists(atPath: mark) != isFull {
      guard Date() < end else { throw Failure(description: "The small disk cannot be filled or emptied.") }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  /// Says what is to be done. Fails when nobody is there to do it.
  private func order(_ text: String) throws {
    try WithheldSignal.run(SIGPIPE) {
      try orders.fileHandleForWriting.write(contentsOf: Data((text + "\n").utf8))
    }
  }

  private func restart(_ order: String) throws {
    try self.order(order)
    try self.order("begin")
    // The old one may still answer for a moment.
    Thread.sleep(forTimeInterval: 0.2)
    try waitUntilReady(nil)
  }

  /// The address of a namespace.
  /// - Parameters:
  ///   - host: A folder with a socket, or an address; nil for the server's own socket.
  ///   - parameters: Further parameters of libpq.
  func url(_ namespace: String, host: String? = nil, _ parameters: [String: String] = [:]) throws -> URL {
    var components = URLComponents()
    components.scheme = "postgres"
    components.host = ""
    components.path = "/postgres"
    components.queryItems =
      [
        URLQueryItem(name: "host", value: host ?? folder.path), URLQueryItem(name: "user", value: "tests"),
        URLQueryItem(name: "namespace", value: namespace),
      ] + parameters.sorted { $0.key < $1.key }.map { URLQueryItem(name: $0.key, value: $0.value) }
    return try #require(components.url)
  }

  /// A namespace that no test has used.
  static func freshNamespace() -> String {
    "t_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "").prefix(16)
  }

  /// The server, without which a test cannot run.
  static func required() throws -> TestServer { try #require(shared, missing) }
}
