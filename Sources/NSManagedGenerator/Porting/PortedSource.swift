/// What porting makes of one Swift file that was written for Apple's Core Data.
public struct PortedSource: Sendable {
  /// A change that is made by itself.
  public struct Edit: Hashable, Sendable {
    /// From 1 on, in the file as it was.
    public let line: Int
    /// What is changed, and into what.
    public let message: String
  }

  /// Something that only its author can change.
  public struct Remark: Hashable, Sendable {
    /// From 1 on, in the file as it was.
    public let line: Int
    public let message: String
  }

  /// The file's text with all edits.
  public let text: String
  public let edits: [Edit]
  public let remarks: [Remark]
}

/// A change of some bytes of a file.
struct Replacement {
  let range: Range<Int>
  let text: String
  let line: Int
  let message: String
}

extension PortedSource {
  /// The file with the replacements, of which none may overlap another: of those that do the first one counts.
  init(_ bytes: [UInt8], _ replacements: [Replacement], _ remarks: [Remark]) {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var end = 0
    var edits: [Edit] = []
    for one in replacements.sorted(by: {
      ($0.range.lowerBound, $0.range.upperBound) < ($1.range.lowerBound, $1.range.upperBound)
    })
    where one.range.lowerBound >= end {
      result += bytes[end..<one.range.lowerBound]
      result += Array(one.text.utf8)
      end = one.range.upperBound
      if !one.message.isEmpty { edits.append(Edit(line: one.line, message: one.message)) }
    }
    result += bytes[end...]
    text = String(decoding: result, as: UTF8.self)
    self.edits = edits
    self.remarks = remarks.sorted { $0.line < $1.line }
  }
}
