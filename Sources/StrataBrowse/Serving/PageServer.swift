import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import StrataCommand
import struct StrataCore.Mutex

/// Serves the page about a store on this computer only, until it is stopped.
package final class PageServer: Sendable {
  /// More connections are closed at once: a browser needs six.
  private static let mostConnections = 64
  /// The most that the lines before a request's body may have.
  private static let largestHead = 32 << 10

  private let group: MultiThreadedEventLoopGroup
  private let channel: any Channel
  private let answers: Answers
  /// Where it listens.
  package let port: Int
  /// The address of the page, with the secret.
  package let address: String

  /// Begins to listen.
  /// - Parameters:
  ///   - port: 0 for one that is free.
  /// - Throws: a failure when the port cannot be had.
  package init(_ browser: StoreBrowser, port: UInt16 = 0) throws {
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let secret = Gate.makeSecret()
    let answers = Answers(browser, most: Self.mostConnections)
    self.answers = answers
    let connections = ConnectionCount(most: Self.mostConnections)
    // The gate has to know the port, which may not be known yet: connections that come before it is are closed.
    let gate = Late<Gate>()
    do {
      channel = try ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 64)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        // Who says that there is no more to be sent gets an answer all the same.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          guard let gate = gate.value, connections.begin() else { return channel.close() }
          channel.closeFuture.whenComplete { _ in connections.end() }
          return channel.eventLoop.makeCompletedFuture {
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = Self.largestHead
            limits.maxHeaderListSize = Self.largestHead
            limits.maxHeaderFieldCount = 64
            let pipeline = channel.pipeline.syncOperations
            try pipeline.configureHTTPServerPipeline(
              withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: true,
              withEncoderConfiguration: .init(),
              withDecoderLimitConfiguration: limits)
            try pipeline.addHandler(RequestHandler(gate, answers))
          }
        }
        .bind(host: "127.0.0.1", port: Int(port)).wait()
    } catch {
      answers.stop()
      try? group.syncShutdownGracefully()
      let isBusy = (error as? IOError)?.errnoCode == EADDRINUSE
      throw BrowseReport.failure(
        isBusy ? "Port \(port) is in use." : "Port \(port) cannot be listened on: \(error).", isBusy: isBusy,
        advice: "Without --port one that is free is taken.")
    }
    // It is bound to an address of IPv4.
    self.port = channel.localAddress?.port ?? 0
    gate.set(
      Gate(
        secret: secret, port: self.port, names: Set(StoreBrowser.names), changing: StoreBrowser.changing,
        takingBytes: StoreBrowser.takingBytes))
    address = "http://127.0.0.1:\(self.port)/\(secret)/"
  }

  /// Returns when the server has been stopped.
  /// - Throws: when the listening has ended by an error.
  package func wait() throws { try channel.closeFuture.wait() }

  /// Closes all connections.
  package func stop() {
    channel.close(promise: nil)
    answers.stop()
    try? group.syncShutdownGracefully()
  }
}

/// How many connections there are.
private final class ConnectionCount: Sendable {
  private let count = Mutex(0)
  private let most: Int

  init(most: Int) { self.most = most }

  /// Whether there may be one more.
  func begin() -> Bool {
    count.withLock { count in
      guard count < most else { return false }
      count += 1
      return true
    }
  }

  func end() { count.withLock { $0 -= 1 } }
}

/// A value that is known later.
private final class Late<Value: Sendable>: Sendable {
  private let stored = Mutex<Value?>(nil)
  var value: Value? { stored.withLock { $0 } }
  func set(_ value: Value) { stored.withLock { $0 = value } }
}
