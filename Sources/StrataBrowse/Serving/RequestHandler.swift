import Foundation
import NIOCore
import NIOHTTP1
import StrataCommand

/// One connection: takes requests one after the other, and has them answered.
///
/// Used on the connection's event loop only.
final class RequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  /// The most that may be sent along with a change.
  static let largestBody = 8 << 20
  /// Who takes longer to send a request is not listened to any more.
  static let patience = TimeAmount.seconds(60)
  /// As long as nobody has shown the secret: such connections are to leave room for others.
  static let firstPatience = TimeAmount.seconds(10)
  /// How often it is looked whether somebody still listens who sends no more.
  static let probing = TimeAmount.milliseconds(250)

  private enum State {
    case waiting
    case receiving(Gate.Passed, keepsAlive: Bool, body: [UInt8])
    case answering(Asker, keepsAlive: Bool)
    /// Whatever else comes is not looked at.
    case done
  }

  private let gate: Gate
  private let answers: Answers
  private var state = State.waiting
  private var deadline: Scheduled<Void>?
  /// Whether the other end takes announcements of an answer: HTTP/1.0 has none.
  private var takesAnnouncements = false
  /// Whether a request has passed the gate on this connection.
  private var isKnown = false
  /// When the last answer has gone; nil before the first.
  private var lastSent: EventLoopFuture<Void>?
  /// Whether nothing more can come: the other end has said so, or cannot be understood any more.
  private var hasAll = false
  /// What has come of later requests while one is answered: little, since nobody who waits for answers sends any.
  private var later: [HTTPServerRequestPart] = []
  private static let mostLater = 64

  init(_ gate: Gate, _ answers: Answers) {
    self.gate = gate
    self.answers = answers
  }

  func channelActive(context: ChannelHandlerContext) { setDeadline(context) }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    // Nobody is left to be answered.
    if case .answering(let asker, _) = state { asker.leave() }
    state = .done
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    take(unwrapInboundIn(data), context)
  }

  /// How much may be sent along.
  private static func largestBody(_ passed: Gate.Passed) -> Int {
    guard case .answer(let name, _, isPost: true) = passed else { return 0 }
    return StoreBrowser.takingBytes.contains(name) ? StoreBrowser.largestUpload : largestBody
  }

  private static func tooLarge(_ passed: Gate.Passed) -> Gate.Refusal {
    Gate.Refusal(
      status: .payloadTooLarge,
      sentence: "This is too much: up to \(largestBody(passed)) bytes can be sent along with such a request.")
  }

  private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
    switch (part, state) {
    case (.head(let head), .waiting):
      do throws(Gate.Refusal) {
        let passed = try gate.pass(head)
        if !isKnown {
          isKnown = true
          // What is sent along has the time that everybody has.
          deadline?.cancel()
          setDeadline(context)
        }
        takesAnnouncements = head.version == .http1_1
        let limit = Self.largestBody(passed)
        if let length = head.headers.first(name: "content-length"), (Int(length) ?? .max) > limit {
          throw Self.tooLarge(passed)
        }
        state = .receiving(passed, keepsAlive: head.isKeepAlive, body: [])
      } catch {
        refuse(error, context)
      }
    case (.body(let buffer), .receiving(let passed, let keepsAlive, var body)):
      // The array must not be held twice while it grows.
      state = .done
      guard body.count + buffer.readableBytes <= Self.largestBody(passed) else {
        return refuse(Self.tooLarge(passed), context)
      }
      body.append(contentsOf: buffer.readableBytesView)
      state = .receiving(passed, keepsAlive: keepsAlive, body: body)
    case (.end, .receiving(let passed, let keepsAlive, let body)):
      deadline?.cancel()
      let asker = Asker()
      state = .answering(asker, keepsAlive: keepsAlive)
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      let loop = context.eventLoop
      answers.answer(passed, body, asker) { answer in
        loop.execute {
          let (handler, context) = bound.value
          handler.send(answer, context)
        }
      }
    case (_, .answering):
      if later.count < Self.mostLater {
        later.append(part)
      } else {
        state = .done
        context.close(promise: nil)
      }
    default: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard error is HTTPParserError else {
      state = .done
      return context.close(promise: nil)
    }
    // Nothing more can be understood, and the parser closes.
    finish(context)
  }

  /// Nothing more comes: what is begun is answered, and the connection closed.
  private func finish(_ context: ChannelHandlerContext) {
    hasAll = true
    switch state {
    case .waiting:
      // What is no HTTP has no secret either.
      guard let lastSent else { return refuse(Gate.Refusal(status: .notFound), context) }
      state = .done
      let channel = context.channel
      lastSent.whenComplete { _ in channel.close(promise: nil) }
    case .receiving: refuse(Gate.Refusal(status: .badRequest), context)
    case .answering: probe(context)
    case .done: break
    }
  }

  /// Finds out whether somebody who sends no more still listens. A closed connection looks the same until something is sent there: then the system says that it is
  /// closed. So an answer that takes longer is announced from time to time, which every client of HTTP/1.1 takes (RFC 9110, 15.2).
  private func probe(_ context: ChannelHandlerContext) {
    guard takesAnnouncements else { return }
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    deadline?.cancel()
    deadline = context.eventLoop.scheduleTask(in: Self.probing) {
      let (handler, context) = bound.value
      guard case .answering = handler.state else { return }
      let head = HTTPResponseHead(version: .http1_1, status: .processing)
      context.writeAndFlush(handler.wrapOutboundOut(.head(head)), promise: nil)
      handler.probe(context)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The other end sends no more, and may still listen.
    if case .inputClosed? = event as? ChannelEvent { finish(context) }
    context.fireUserInboundEventTriggered(event)
  }

  private func setDeadline(_ context: ChannelHandlerContext) {
    let channel = context.channel
    deadline = context.eventLoop.scheduleTask(in: isKnown ? Self.patience : Self.firstPatience) {
      channel.close(promise: nil)
    }
  }

  // MARK: Answering

  private func refuse(_ refusal: Gate.Refusal, _ context: ChannelHandlerContext) {
    deadline?.cancel()
    let answer = refusal.sentence.map { BrowseAnswer(status: Int(refusal.status.code), error: $0) }
    let body = answer?.body ?? []
    var headers = HTTPHeaders(
      Answers.headers + [("Content-Length", String(body.count)), ("Connection", "close")])
    if let answer {
      headers.add(name: "Content-Type", value: answer.type)
      headers.add(name: "Content-Security-Policy", value: Answers.policy(for: answer))
    }
    if let allow = refusal.allow { headers.add(name: "Allow", value: allow) }
    state = .done
    let head = HTTPResponseHead(version: .http1_1, status: refusal.status, headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if !body.isEmpty {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
    }
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
  }

  private func send(_ answer: BrowseAnswer, _ context: ChannelHandlerContext) {
    // The other end may have gone meanwhile.
    guard case .answering(_, let keepsAlive) = state else { return }
    deadline?.cancel()
    var headers = HTTPHeaders(Answers.headers)
    headers.add(name: "Content-Type", value: answer.type)
    headers.add(name: "Content-Length", value: String(answer.body.count))
    headers.add(name: "Content-Security-Policy", value: Answers.policy(for: answer))
    if let name = answer.fileName {
      headers.add(name: "Content-Disposition", value: "attachment; filename=\"\(name)\"")
    }
    headers.add(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
    let status = HTTPResponseStatus(statusCode: answer.status)
    let head = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    state = keepsAlive ? .waiting : .done
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if !answer.body.isEmpty {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: answer.body)))), promise: nil)
    }
    let channel = context.channel
    let sent = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    lastSent = sent
    if keepsAlive {
      setDeadline(context)
      let parts = later
      later = []
      for part in parts { take(part, context) }
      if hasAll { finish(context) }
    } else {
      sent.whenComplete { _ in channel.close(promise: nil) }
    }
  }
}
