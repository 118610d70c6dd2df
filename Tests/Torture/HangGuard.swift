import Foundation

/// Ends the process with a signal when what it does hangs: after so many seconds of the processor's time, however busy the machine is and
/// however slow the build, or after ten minutes of waiting for something.
enum HangGuard {
  static func arm(seconds: Int) {
    set(seconds)
    alarm(600)
  }

  static func disarm() {
    set(0)
    alarm(0)
  }

  private static func set(_ seconds: Int) {
    var timer = itimerval()
    timer.it_value.tv_sec = seconds
    // ITIMER_PROF, the process's own and the system's time for it, is 2 everywhere, and of another type on each system.
    setitimer(2, &timer, nil)
  }
}
